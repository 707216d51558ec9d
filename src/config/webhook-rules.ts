import { listOf, type Rule, rules } from './config-rules.ts';

/** While one secret is being replaced, both sign. */
export const MAX_SECRETS = 2;

/** Bytes of a secret, by the Standard Webhooks specification. */
const SECRET = { min: 24, max: 64 };

const SECRET_RULE = `whsec_ and the base64 of ${SECRET.min} to ${SECRET.max} bytes`;

const URL_RULE = 'an https:// or http:// URL without a user, a password and a fragment';

/** Of the variable and its file, which must not have more than MAX_SECRETS together. */
const secrets: Rule<readonly string[]> = {
  mustBe: `one secret, or two separated by a comma or a line end, each ${SECRET_RULE}`,
  parse: (value) => listOf(value, (text) => (isSecret(text) ? text : undefined)),
};

/** What the variables of webhooks must be. */
export const webhookRules = {
  secrets,
  urls: {
    mustBe: `one URL or more, separated by commas or line ends, each ${URL_RULE}`,
    parse: (value) => listOf(value, (url) => (isPlain(url) ? url : undefined)),
  },
  /** Of a file in which each line has a URL and its secrets. */
  lines: {
    mustBe:
      'lines of a URL, a space and its secret, or two separated by a comma; ' +
      `the URL must be ${URL_RULE}, and a secret ${SECRET_RULE}`,
    parse: (value) => listOf(value, parseLine, /\n/),
  },
} satisfies Record<string, Rule<unknown>>;

function parseLine(line: string) {
  const [url = '', ...others] = line.split(/\s+/);
  const own = secrets.parse(others.join());
  return isPlain(url) && own !== undefined && own.length <= MAX_SECRETS ? { url, secrets: own } : undefined;
}

function isPlain(url: string): boolean {
  return !url.includes('#') && rules.httpUrl.parse(url) !== undefined;
}

function isSecret(text: string): boolean {
  const [, base64 = ''] = /^whsec_(.*)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  // Buffer ignores characters that are not base64.
  return bytes.toString('base64') === base64 && bytes.length >= SECRET.min && bytes.length <= SECRET.max;
}
