import { expect } from '@jest/globals';
import { execute } from '../../../tooling/execute.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { eventually } from '../eventually.ts';
import { plantsOf } from '../plants/plant-lines.ts';
import { runCommand, type Service, startWith } from '../service-process.ts';
import { type Receiver, webhooksTo } from './webhook-receiver.ts';

/* Clients of a service that sends webhooks. */

type Request = Parameters<ApiClient['send']>;

export function sendTo({ apiUrl }: Service) {
  const client = apiClient(apiUrl);
  return async (...request: Request) => (await client.send(...request)).status;
}

export const record = (id: bigint, name = `plant ${id}`) => `{"id":${id},"name":"${name}"}`;

/** Stops it in good order. */
export async function stopped(service: Service): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

export const create = (id: bigint): Request => ['POST', '/plants', { body: record(id) }];
export const rename = (id: bigint, name: string): Request => ['PUT', `/plants/${id}`, { body: `{"name":"${name}"}` }];

/** Starts a service on a database that announces plants to a receiver. */
export const startAnnouncing = async (DATABASE_URL: string, { url }: Pick<Receiver, 'url'>): Promise<Service> =>
  startWith({ DATABASE_URL, ...webhooksTo(url) });

/**
 * Sends requests to such a service, and stops it once all that is stored is announced and the place of that, too.
 *
 * @returns the ids that were announced meanwhile
 */
export async function announced(url: string, receiver: Receiver, ...requests: readonly Request[]) {
  const before = receiver.received.length;
  const service = await startAnnouncing(url, receiver);
  const send = sendTo(service);
  for (const request of requests) expect(await send(...request)).toBe(200);
  await eventually(async () => (await execute(url, ALL_ANNOUNCED)).length === 1);
  await stopped(service);
  return new Set(receiver.received.slice(before).map(({ body }) => plantsOf(body)[0]?.id));
}

const ALL_ANNOUNCED = `select from webhooks
  where (changed, id) = (select changed, id from plants order by changed desc, id desc limit 1)`;

/** Runs npm run webhooks -- rewind. */
export async function rewind(DATABASE_URL: string, { url }: Receiver): Promise<void> {
  expect(await runCommand('webhooks', ['rewind', url], { DATABASE_URL })).toMatchObject({ code: 0 });
}
