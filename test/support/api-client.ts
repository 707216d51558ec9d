import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { TOKEN } from './api-server.ts';
import { atEnd } from './lifetimes.ts';

/* Requests of all operations, on connections that stay open. */

export interface ApiResponse {
  readonly status: number;
  /** The number of the error; undefined for a success. */
  readonly error: number | undefined;
  readonly body: string;
  readonly etag: string | undefined;
}

interface ApiRequest {
  readonly body?: string;
  readonly ifMatch?: string | undefined;
}

export interface ApiClient {
  /** @throws NoResponse, or any other Error if the connection fails */
  send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, content?: ApiRequest): Promise<ApiResponse>;
  close(): void;
}

/** Longer than any deadline of the service and any wait for changes, in milliseconds: who waits so long waits for ever. */
const PATIENCE_MS = 60_000;

export class NoResponse extends Error {}

/** Until the end of the test, or until it is closed. @param keepAlive whether connections are used more than once */
export function apiClient(url: string, token = TOKEN, keepAlive = true): ApiClient {
  const agent = new Agent({ keepAlive });
  const close = () => agent.destroy();
  atEnd(close);
  return {
    async send(method, path, { body, ifMatch } = {}) {
      const headers = { Authorization: `Bearer ${token}`, ...(ifMatch !== undefined && { 'If-Match': ifMatch }) };
      const response = await exchange(url + path, { method, headers, agent }, body);
      const error = response.status >= 400 ? Number(/"error":(\d+)/.exec(response.body)?.[1]) : undefined;
      return { status: response.status, error, body: response.body, etag: response.headers.etag };
    },
    close,
  };
}

interface Sent {
  readonly method: string;
  readonly agent: Agent;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request with TOKEN, unless its headers have another. @throws as `ApiClient.send` does */
export async function exchange(url: string, { method, agent, headers }: Sent, body?: string) {
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const all = { Authorization: `Bearer ${TOKEN}`, ...type, ...headers };
  const sending = request(url, { method, agent, headers: all });
  const responded = new Promise<IncomingMessage>((resolve, reject) => {
    sending.on('response', resolve).on('error', reject);
  });
  sending.setTimeout(PATIENCE_MS, () => sending.destroy(new NoResponse(`no response within ${PATIENCE_MS} ms`)));
  sending.end(body);
  const response = await responded;
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}
