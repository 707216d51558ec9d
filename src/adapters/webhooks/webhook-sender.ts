import { createHmac, hash } from 'node:crypto';
import type { Dispatcher, EnvHttpProxyAgent } from 'undici';
import { type Message, SEND_MS_MAX, type Send, type SendError } from '../../application/webhooks/ports.ts';
import { plantJson } from '../../formats/plant-json.ts';
import { dispatcherTo } from './endpoint-dispatcher.ts';

/** Where webhooks are sent. */
interface WebhookEndpoint {
  /** For people and metrics: its host and a digest of its URL, which may be a secret. */
  readonly name: string;
  readonly url: string;
  /** One or two, as `whsec_` and base64. Each signs, so that the receiver can replace one by the other. */
  readonly secrets: readonly string[];
}

interface SenderOptions {
  /** Firewalls refuse requests that name no software. */
  readonly userAgent: string;
  /** Through which https:// URLs are requested. */
  readonly proxy?: Pick<EnvHttpProxyAgent.Options, 'httpsProxy' | 'noProxy'>;
  /** Milliseconds that a request may take, from the connection to the headers of the response. */
  readonly timeout?: number;
}

/** Connections to each endpoint. */
const CONNECTIONS_MAX = 32;

/** Connections to a receiver that closes each one after its response: the queue of Python's server holds no more. */
const CONNECTIONS_MIN = 5;

/** How much of a response's body is read, and for how long after its headers, so that its connection can be used again. */
const BODY_BYTES_MAX = 64 * 1024;
const BODY_MS_MAX = 1_000;

/**
 * Sends messages signed as the Standard Webhooks specification says (version 1, symmetric). Any status 2xx acknowledges
 * one, and redirects are not followed. Endpoints share no connection, so that a slow one delays no other.
 *
 * @returns `send`; `beginWave`, which returns how many requests an endpoint takes at the same time, by whether it has kept the
 * connections of the wave before; and `close`, which breaks off every request
 */
export function webhookSender(
  endpoints: readonly WebhookEndpoint[],
  { userAgent, proxy = {}, timeout = SEND_MS_MAX - BODY_MS_MAX }: SenderOptions,
) {
  const targets = new Map(
    endpoints.map(({ name, url, secrets }) => {
      const { origin, pathname, search } = new URL(url);
      const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
      const lastWave = { requests: 0, connections: 0 };
      const dispatcher = dispatcherTo(CONNECTIONS_MAX, timeout, proxy, () => lastWave.connections++);
      return [name, { dispatcher, origin, path: pathname + search, keys, lastWave }];
    }),
  );
  const targetOf = (endpoint: string) => {
    const target = targets.get(endpoint);
    if (target === undefined) throw new TypeError(`${endpoint} is not configured`);
    return target;
  };

  const send: Send = async (endpoint, message) => {
    const { dispatcher, origin, path, keys, lastWave } = targetOf(endpoint);
    lastWave.requests++;
    const deadline = new AbortController();
    const abort = () => deadline.abort(new Error(`no response within ${timeout / 1_000} s`));
    let timer = setTimeout(abort, timeout);
    try {
      const body = plantJson(message.plant);
      const headers = { 'user-agent': userAgent, ...signedHeaders(message, body, keys) };
      const { signal } = deadline;
      const response = await dispatcher.request({ method: 'POST', origin, path, headers, body, signal });
      clearTimeout(timer);
      timer = setTimeout(abort, BODY_MS_MAX);
      // Neither the content of the body matters, nor whether all of it arrives.
      await response.body.dump({ limit: BODY_BYTES_MAX, signal }).catch(() => {});
      return failureIn(response);
    } catch (error) {
      return { reason: reasonOf(error) };
    } finally {
      clearTimeout(timer);
    }
  };

  const beginWave = (endpoint: string) => {
    const { lastWave } = targetOf(endpoint);
    const isKept = lastWave.connections < lastWave.requests;
    Object.assign(lastWave, { requests: 0, connections: 0 });
    return isKept ? CONNECTIONS_MAX : CONNECTIONS_MIN;
  };

  const close = () => Promise.all([...targets.values()].map(({ dispatcher }) => dispatcher.destroy()));
  return { send, beginWave, close };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function signedHeaders(message: Message, body: string, keys: readonly Buffer[]): Record<string, string> {
  const id = messageId(message, body);
  const timestamp = `${Math.floor(Date.now() / 1_000)}`;
  const signatures = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'));
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}

/** The digits of the largest int64. Texts with this number of digits compare as their numbers do. */
const DIGITS_MAX = 19;

/** The id stays the same when the message is sent again. Within an epoch, a later state of a plant has a greater id. */
function messageId({ epoch, changed, id }: Message, body: string): string {
  const digest = hash('sha256', body, 'hex').slice(0, 16);
  return ['msg', epoch, `${changed}`.padStart(DIGITS_MAX, '0'), id, digest].join('_');
}

function failureIn({ statusCode, headers }: Dispatcher.ResponseData): SendError | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  const redirect = statusCode >= 300 && statusCode < 400 ? ', and redirects are not followed' : '';
  const retryAfter = millisecondsUntil(`${headers['retry-after'] ?? ''}`);
  return { reason: `it responded with ${statusCode}${redirect}`, isGone: statusCode === 410, retryAfter };
}

/** RFC 9110 section 10.2.3: seconds or a date; 0 if it is neither. */
function millisecondsUntil(retryAfter: string): number {
  const milliseconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now();
  return Math.max(milliseconds || 0, 0);
}

/** Node.js throws an error without a message if a host has several addresses and none responds. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'the connection failed';
}
