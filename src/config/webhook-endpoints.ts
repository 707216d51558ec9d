import { hash } from 'node:crypto';
import type { WebhookEndpoint } from '../adapters/webhooks/webhook-sender.ts';
import type { Reader, Values } from './config-reader.ts';
import { rules } from './config-rules.ts';
import { VARIABLES } from './variables.ts';
import { MAX_SECRETS } from './webhook-rules.ts';

const { webhooks } = VARIABLES;

/** Each has connections and a task of its own. */
const MAX_ENDPOINTS = 100;

/** Where webhooks are sent, and with which secrets. */
export function webhookEndpoints(
  values: Values<typeof webhooks>,
  { isSet, problem }: Reader,
): readonly WebhookEndpoint[] {
  const secrets = [...values.secrets, ...values.secretFile];
  const secret = [webhooks.secrets, webhooks.secretFile].find(isSet);
  if (isSet(webhooks.urls) && secret === undefined) {
    problem(
      'WEBHOOK_SECRET or WEBHOOK_SECRET_FILE must be set too, since WEBHOOK_URLS is: ' +
        'echo "whsec_$(openssl rand -base64 32)" makes a secret',
    );
  }
  if (secret !== undefined && !isSet(webhooks.urls)) {
    problem(`WEBHOOK_URLS must be set too, since ${secret.name} is: URLs in WEBHOOKS_FILE have their own secrets`);
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
