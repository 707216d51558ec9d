import { hash } from 'node:crypto';
import type { WebhookEndpoint } from '../adapters/webhooks/webhook-sender.ts';
import type { Variables } from './config-reader.ts';
import { httpsOrLoopbackUrl, httpUrl, listOf, oneOf, type Rule } from './config-rules.ts';
import { inFile } from './list-file.ts';

/** Old and new while one is being replaced. */
const MOST_SECRETS = 2;

/** Octets of a secret, by the Standard Webhooks specification. */
const SECRET = { least: 24, most: 64 };

const secretRule = `whsec_ and the base64 of ${SECRET.least} to ${SECRET.most} octets`;

const secrets: Rule<readonly string[]> = {
  mustBe: `one secret, or two separated by a comma or a line end, each ${secretRule}`,
  parse: (value) => listOf(value, (text) => (isSecret(text) ? text : undefined)),
};

/** Reads where webhooks are sent, and with which secrets. */
export function webhookEndpoints(variables: Variables): readonly WebhookEndpoint[] {
  const { given, read, problem } = variables;
  const allowsHttp = read('WEBHOOK_ALLOW_HTTP', oneOf('true', 'false')) === 'true';
  const urls = read('WEBHOOK_URLS', urlsRule(allowsHttp)) ?? [];
  const common = [
    ...(read('WEBHOOK_SECRET', secrets) ?? []),
    ...inFile('WEBHOOK_SECRET_FILE', secrets, 'secret', variables),
  ];
  const own = inFile('WEBHOOKS_FILE', linesRule(allowsHttp), 'URLs and secrets', variables);
  const secretName = (['WEBHOOK_SECRET', 'WEBHOOK_SECRET_FILE'] as const).find(given);
  if (given('WEBHOOK_URLS') && secretName === undefined) {
    problem(
      'WEBHOOK_SECRET or WEBHOOK_SECRET_FILE must be set too, since WEBHOOK_URLS is: ' +
        'echo "whsec_$(openssl rand -base64 32)" makes a secret',
    );
  }
  if (secretName !== undefined && !given('WEBHOOK_URLS')) {
    problem(`WEBHOOK_URLS must be set too, since ${secretName} is: URLs in WEBHOOKS_FILE have their own secrets`);
  }
  if (common.length > MOST_SECRETS) {
    problem('WEBHOOK_SECRET and WEBHOOK_SECRET_FILE must have two secrets together at most');
  }
  const endpoints = [...urls.map((url) => endpointAt(url, common)), ...own];
  const names = endpoints.map(({ name }) => name);
  for (const name of new Set(names.filter((one, index) => names.indexOf(one) !== index))) {
    problem(`WEBHOOK_URLS and WEBHOOKS_FILE must have each URL once, not that of ${name} twice`);
  }
  return endpoints;
}

/** What an endpoint is called where its URL must not be seen. */
export function endpointName(url: string): string {
  const { host, href } = new URL(url);
  return `${host} ${hash('sha256', href, 'hex').slice(0, 16)}`;
}

function endpointAt(url: string, secrets: readonly string[]): WebhookEndpoint {
  return { name: endpointName(url), url, secrets };
}

const urlMustBe = (allowsHttp: boolean) =>
  `${allowsHttp ? 'an https:// or http:// URL' : 'an https:// URL, or an http:// one of this machine (WEBHOOK_ALLOW_HTTP=true permits others),'} without a user, a password and a fragment`;

function isAllowed(url: string, allowsHttp: boolean): boolean {
  const { username, password } = URL.parse(url) ?? {};
  const isPlain = username === '' && password === '' && !url.includes('#');
  return isPlain && (allowsHttp ? httpUrl : httpsOrLoopbackUrl).parse(url) !== undefined;
}

function urlsRule(allowsHttp: boolean): Rule<readonly string[]> {
  return {
    mustBe: `one URL or more, separated by commas or line ends, each ${urlMustBe(allowsHttp)}`,
    parse: (value) => listOf(value, (url) => (isAllowed(url, allowsHttp) ? url : undefined)),
  };
}

/** Of a file in which each line has a URL and its secrets. */
function linesRule(allowsHttp: boolean): Rule<readonly WebhookEndpoint[]> {
  const parseLine = (line: string) => {
    const [url = '', ...others] = line.split(/\s+/);
    const list = secrets.parse(others.join());
    const isComplete = isAllowed(url, allowsHttp) && list !== undefined && list.length <= MOST_SECRETS;
    return isComplete ? endpointAt(url, list) : undefined;
  };
  return {
    mustBe: `lines of a URL, a space and its secret, or two separated by a comma; the URL must be ${urlMustBe(allowsHttp)}, and a secret ${secretRule}`,
    parse: (value) => listOf(value, parseLine, /\n/),
  };
}

function isSecret(text: string): boolean {
  const [, base64 = ''] = /^whsec_(.*)$/.exec(text) ?? [];
  const octets = Buffer.from(base64, 'base64');
  // Decoders are lenient.
  return octets.toString('base64') === base64 && octets.length >= SECRET.least && octets.length <= SECRET.most;
}
