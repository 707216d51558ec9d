import { hash } from 'node:crypto';
import type { WebhookEndpoint } from '../adapters/webhooks/webhook-sender.ts';
import { listOf, type Rule, rules } from './rules.ts';

/** While one secret is being replaced, both sign. */
const MAX_SECRETS = 2;

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

/** The values of their variables. */
interface Values {
  readonly urls: readonly string[];
  readonly secrets: readonly string[];
  readonly secretFile: readonly string[];
  readonly file: readonly Pick<WebhookEndpoint, 'url' | 'secrets'>[];
  readonly allowHttp: boolean;
}

/** Each has connections and a task of its own. */
const MAX_ENDPOINTS = 100;

/**
 * Where webhooks are sent, and with which secrets.
 *
 * @param isSet whether a variable is
 * @param problem called with what is wrong
 */
export function webhookEndpoints(
  values: Values,
  isSet: (name: string) => boolean,
  problem: (line: string) => void,
): readonly WebhookEndpoint[] {
  const secrets = [...values.secrets, ...values.secretFile];
  const secret = ['WEBHOOK_SECRET', 'WEBHOOK_SECRET_FILE'].find(isSet);
  if (isSet('WEBHOOK_URLS') && secret === undefined) {
    problem(
      'WEBHOOK_SECRET or WEBHOOK_SECRET_FILE must be set too, since WEBHOOK_URLS is: ' +
        'echo "whsec_$(openssl rand -base64 32)" makes a secret',
    );
  }
  if (secret !== undefined && !isSet('WEBHOOK_URLS')) {
    problem(`WEBHOOK_URLS must be set too, since ${secret} is: URLs in WEBHOOKS_FILE have their own secrets`);
  }
  if (secrets.length > MAX_SECRETS) {
    problem(`WEBHOOK_SECRET and WEBHOOK_SECRET_FILE must have two secrets together at most, not ${secrets.length}`);
  }
  const given = [...values.urls.map((url) => ({ url, secrets })), ...values.file];
  const endpoints = given.map((endpoint) => ({ name: endpointName(endpoint.url), ...endpoint }));
  if (endpoints.length > MAX_ENDPOINTS) {
    problem(`WEBHOOK_URLS and WEBHOOKS_FILE must have ${MAX_ENDPOINTS} URLs together at most, not ${endpoints.length}`);
  }
  for (const [index, { name, url }] of endpoints.entries()) {
    if (endpoints.findIndex((endpoint) => endpoint.name === name) < index) {
      problem(`WEBHOOK_URLS and WEBHOOKS_FILE must have each URL once, not that of ${name} twice`);
    }
    if (values.allowHttp || rules.httpsOrLoopbackUrl.parse(url) !== undefined) continue;
    problem(
      'WEBHOOK_URLS and WEBHOOKS_FILE must have https:// URLs, or http:// URLs of this machine, ' +
        `unlike that of ${name}: WEBHOOK_ALLOW_HTTP=true permits others, for private networks`,
    );
  }
  return endpoints;
}

/** What an endpoint is called where its URL must not be seen. */
export function endpointName(url: string): string {
  const { host, href } = new URL(url);
  return `${host} ${hash('sha256', href, 'hex').slice(0, 16)}`;
}
