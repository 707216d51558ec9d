import { listOf, rules } from './rules.ts';

/** While one secret is being replaced, both sign. */
export const SECRETS_MAX = 2;

/** Bytes of a secret, by the Standard Webhooks specification. */
const SECRET_BYTES = { min: 24, max: 64 };

const SECRET_RULE = `whsec_ and the base64 of ${SECRET_BYTES.min} to ${SECRET_BYTES.max} bytes`;

const URL_RULE = 'an https:// or http:// URL without a user, a password and a fragment';

/** Of the variable and its file, which must not have more than SECRETS_MAX together. */
const secrets = listOf(`one secret, or two separated by a comma or a line end, each ${SECRET_RULE}`, (text) =>
  isSecret(text) ? text : undefined,
);

/** What the variables of webhooks must be. */
export const webhookRules = {
  secrets,
  urls: listOf(`one URL or more, separated by commas or line ends, each ${URL_RULE}`, (url) =>
    isPlain(url) ? url : undefined,
  ),
  /** Of a file in which each line has a URL and its secrets. */
  lines: listOf(
    'lines of a URL, a space and its secret, or two separated by a comma; ' +
      `the URL must be ${URL_RULE}, and a secret ${SECRET_RULE}`,
    (line) => {
      const [url = '', ...words] = line.split(/\s+/);
      const own = secrets.parse(words.join());
      return isPlain(url) && own !== undefined && own.length <= SECRETS_MAX ? { url, secrets: own } : undefined;
    },
    /\n/,
  ),
};

function isPlain(url: string): boolean {
  return !url.includes('#') && rules.httpUrl.parse(url) !== undefined;
}

function isSecret(text: string): boolean {
  const [, base64 = ''] = /^whsec_(.*)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  // Buffer ignores characters that are not base64.
  return bytes.toString('base64') === base64 && bytes.length >= SECRET_BYTES.min && bytes.length <= SECRET_BYTES.max;
}
