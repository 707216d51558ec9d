import { Agent, request } from 'node:http';
import { TOKEN } from './api-server.ts';

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
  /** @throws Error if the connection fails */
  send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, content?: ApiRequest): Promise<ApiResponse>;
  close(): void;
}

/** Longer than any deadline of the service and any wait for changes, in milliseconds. */
const PATIENCE = 60_000;

export function apiClient(url: string): ApiClient {
  const agent = new Agent({ keepAlive: true });
  return {
    send(method, path, { body, ifMatch } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
      const headers = {
        Authorization: `Bearer ${TOKEN}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
      };
      const sending = request(url + path, { method, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          const error = status >= 400 ? Number(/"error":(\d+)/.exec(text)?.[1]) : undefined;
          resolve({ status, error, body: text, etag: headers.etag });
        });
      });
      sending.on('error', reject);
      sending.setTimeout(PATIENCE, () => sending.destroy(new Error(`no response within ${PATIENCE} ms`)));
      sending.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
