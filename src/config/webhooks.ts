import { hash } from 'node:crypto';
import { type Check, rules } from './rules.ts';

/** The most secrets of an endpoint: while one is being replaced, both sign. */
const SECRETS_MAX = 2;

/** Bytes of a secret, by the Standard Webhooks specification. */
const SECRET_BYTES = { min: 24, max: 64 };

const SECRET_RULE = `whsec_ and the base64 of ${SECRET_BYTES.min} to ${SECRET_BYTES.max} bytes`;

const URL_RULE = 'an https:// or http:// URL without a user, a password and a fragment';

/** The rule of WEBHOOK_SECRET and of its file, which may have SECRETS_MAX secrets together. */
const secrets = rules.listOf(`one secret, or two separated by a comma or a line end, each ${SECRET_RULE}`, (text) =>
  isSecret(text) ? text : undefined,
);

/** What the variables of webhooks must be. */
export const webhookRules = {
  secrets,
  urls: rules.listOf(`one URL or more, separated by commas or line ends, each ${URL_RULE}`, (url) =>
    isPlain(url) ? url : undefined,
  ),
  /** The rule of a file in which each line has a URL and its secrets. */
  lines: rules.listOf(
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

/** The most endpoints: each has connections and a task of its own. */
const ENDPOINTS_MAX = 100;

export interface Endpoint {
  readonly name: string;
  readonly url: string;
  readonly secrets: readonly string[];
}

interface WebhookValues {
  readonly WEBHOOK_URLS?: readonly string[] | undefined;
  readonly WEBHOOK_SECRET?: readonly string[] | undefined;
  readonly WEBHOOK_SECRET_FILE?: readonly string[] | undefined;
  readonly WEBHOOKS_FILE?: readonly Omit<Endpoint, 'name'>[] | undefined;
  readonly WEBHOOK_ALLOW_HTTP: boolean;
}

/** Where webhooks are sent, and with which secrets. */
export function configuredEndpoints(values: WebhookValues, { isSet, problem }: Check): readonly Endpoint[] {
  const { WEBHOOK_URLS = [], WEBHOOK_SECRET = [], WEBHOOK_SECRET_FILE = [], WEBHOOKS_FILE = [] } = values;
  const secrets = [...WEBHOOK_SECRET, ...WEBHOOK_SECRET_FILE];
  if (isSet('WEBHOOK_URLS') !== ['WEBHOOK_SECRET', 'WEBHOOK_SECRET_FILE'].some(isSet)) {
    problem(
      'WEBHOOK_URLS must be set together with WEBHOOK_SECRET or WEBHOOK_SECRET_FILE: URLs in WEBHOOKS_FILE have their ' +
        'own secrets, and echo "whsec_$(openssl rand -base64 32)" makes a secret',
    );
  }
  if (secrets.length > SECRETS_MAX) {
    problem(`WEBHOOK_SECRET and WEBHOOK_SECRET_FILE must have two secrets together at most, not ${secrets.length}`);
  }
  const endpoints = [...WEBHOOK_URLS.map((url) => ({ url, secrets })), ...WEBHOOKS_FILE].map((endpoint) => ({
    name: endpointName(endpoint.url),
    ...endpoint,
  }));
  if (endpoints.length > ENDPOINTS_MAX) {
    problem(`WEBHOOK_URLS and WEBHOOKS_FILE must have ${ENDPOINTS_MAX} URLs together at most, not ${endpoints.length}`);
  }
  for (const [index, { name, url }] of endpoints.entries()) {
    if (endpoints.findIndex((endpoint) => endpoint.name === name) < index) {
      problem(`WEBHOOK_URLS and WEBHOOKS_FILE must have each URL once, not that of ${name} twice`);
    }
    if (values.WEBHOOK_ALLOW_HTTP || rules.httpsOrLoopbackUrl.parse(url) !== undefined) continue;
    problem(
      'WEBHOOK_URLS and WEBHOOKS_FILE must have https:// URLs, or http:// URLs of this machine, ' +
        `unlike that of ${name}: WEBHOOK_ALLOW_HTTP=true permits others, for private networks`,
    );
  }
  return endpoints;
}

/** The name of an endpoint where its URL must not be seen. */
export function endpointName(url: string): string {
  const { host, href } = new URL(url);
  return `${host} ${hash('sha256', href, 'hex').slice(0, 16)}`;
}
