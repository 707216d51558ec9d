import { hash } from 'node:crypto';
import type { WebhookEndpoint } from '../adapters/webhooks/webhook-sender.ts';
import type { Reader } from './reader.ts';
import { rules } from './rules.ts';
import type { VARIABLES, Values } from './variables.ts';
import { SECRETS_MAX } from './webhook-rules.ts';

/** Each endpoint has connections and a task of its own. */
const ENDPOINTS_MAX = 100;

/** Where webhooks are sent, and with which secrets. */
export function webhookEndpoints(
  values: Values<typeof VARIABLES>,
  { isSet, problem }: Pick<Reader, 'isSet' | 'problem'>,
): readonly WebhookEndpoint[] {
  const { WEBHOOK_URLS = [], WEBHOOK_SECRET = [], WEBHOOK_SECRET_FILE = [], WEBHOOKS_FILE = [] } = values;
  const secrets = [...WEBHOOK_SECRET, ...WEBHOOK_SECRET_FILE];
  const secretVariable = ['WEBHOOK_SECRET', 'WEBHOOK_SECRET_FILE'].find(isSet);
  if (isSet('WEBHOOK_URLS') && secretVariable === undefined) {
    problem(
      'WEBHOOK_SECRET or WEBHOOK_SECRET_FILE must be set too, since WEBHOOK_URLS is: ' +
        'echo "whsec_$(openssl rand -base64 32)" makes a secret',
    );
  }
  if (secretVariable !== undefined && !isSet('WEBHOOK_URLS')) {
    problem(`WEBHOOK_URLS must be set too, since ${secretVariable} is: URLs in WEBHOOKS_FILE have their own secrets`);
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

/** What an endpoint is called where its URL must not be seen. */
export function endpointName(url: string): string {
  const { host, href } = new URL(url);
  return `${host} ${hash('sha256', href, 'hex').slice(0, 16)}`;
}
