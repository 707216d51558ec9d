import { afterEach, expect } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import type { Service } from '../service-process.ts';

/* Clients of a service that sends webhooks. */

const clients: ApiClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** Sends requests until the end of the test, or of the service. */
export function sendTo({ apiUrl }: Service) {
  const client = apiClient(apiUrl);
  clients.push(client);
  return async (...request: Parameters<ApiClient['send']>) => (await client.send(...request)).status;
}

export const record = (id: bigint, name = `plant ${id}`) => `{"id":${id},"name":"${name}"}`;

/** Stops it in good order. */
export async function stopped(service: Service): Promise<void> {
  // Their connections would keep it from ending.
  for (const client of clients.splice(0)) client.close();
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}
