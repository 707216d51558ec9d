import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { CLOSE, get, TOKEN } from '../support/api-server.ts';
import { embeddedFolder } from '../support/embedded-template.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { projectFile, startNode, startService, temporaryFolder } from '../support/service-process.ts';
import { emptyDatabase, migratedDatabase } from '../support/test-database.ts';
import { hasAll, type Receiver, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';
import { create, record, sendTo, stopped } from '../support/webhooks/webhook-service.ts';

/* Webhooks of the service as a process, through its restarts and while its database is being migrated. */

const receiver = forEachTest(startReceiver);
const other = forEachTest(startReceiver);

const hasReceived = ({ received }: Receiver, count: number) => received.length === count;

/** Sorted: those of a page are sent at the same time. */
const bodies = ({ received }: Receiver) => received.map(({ body }) => body).toSorted();

describe.each<[string, () => Promise<Record<string, string>>]>([
  ['the embedded database', async () => ({ DATA_DIR: await embeddedFolder() })],
  ['Postgres', async () => ({ DATABASE_URL: (await migratedDatabase()).url })],
])('on %s', (_, database) => {
  let environment: Record<string, string>;
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    environment = { ...(await database()), ACCESS_TOKENS: TOKEN };
  });

  test('announces what is new and what has changed, and neither repetitions nor deletions', async () => {
    const service = await startService(folder, { ...environment, ...webhooksTo(receiver.url, other.url) });
    const send = sendTo(service);
    const body = '{"id":9223372036854775807,"name":"Pinus longaeva \\u00e9","tag":""}';
    const path = '/plants/9223372036854775807';
    const bothHave = (count: number) => eventually(() => hasReceived(receiver, count) && hasReceived(other, count));
    for (const _ of [1, 2]) expect(await send('POST', '/plants', { body })).toBe(200);
    await bothHave(1);
    const read = await get(service.apiUrl, path, CLOSE);
    expect(receiver.received[0]?.body).toBe(await read.text());

    for (const _ of [1, 2]) expect(await send('PUT', path, { body: '{"name":"changed"}' })).toBe(200);
    await bothHave(2);
    expect(await send('DELETE', path)).toBe(204);
    expect(await send(...create(1n))).toBe(200);
    await bothHave(3);
    expect(receiver.received.map(({ body }) => body)).toEqual([
      '{"id":9223372036854775807,"name":"Pinus longaeva é","tag":""}',
      '{"id":9223372036854775807,"name":"changed"}',
      record(1n),
    ]);
    expect(other.received).toEqual(receiver.received);
    for (const one of [receiver, other]) expect([one.forged(), one.repeated()]).toEqual([0, 0]);
    await stopped(service);
  });

  test('goes on where it was, and begins at the end for a new endpoint, until that is rewound', async () => {
    const first = await startService(folder, { ...environment, ...webhooksTo(receiver.url) });
    const send = sendTo(first);
    for (let id = 1n; id <= 3n; id++) expect(await send(...create(id))).toBe(200);
    await eventually(() => hasAll(receiver, [1n, 2n, 3n]));
    await stopped(first);
    const between = await startService(folder, environment);
    expect(await sendTo(between)(...create(4n))).toBe(200);
    await stopped(between);

    const both = webhooksTo(receiver.url, other.url);
    const second = await startService(folder, { ...environment, ...both });
    expect(await sendTo(second)(...create(5n))).toBe(200);
    await eventually(() => hasAll(receiver, [4n, 5n]) && other.copy.has(5n));
    const all = [1n, 2n, 3n, 4n, 5n].map((id) => record(id));
    expect(bodies(receiver)).toEqual(all);
    expect(other.received.map(({ body }) => body)).toEqual([record(5n)]);
    await stopped(second);

    const webhooks = async (...args: string[]) => {
      const { code, stdout } = await startNode(
        [projectFile('src/webhooks.ts'), ...args],
        folder,
        environment,
      ).outcome();
      expect(code).toBe(0);
      return stdout;
    };
    await webhooks('rewind', other.url);
    expect(await webhooks('status')).toMatch(
      /^(\S+ \w+: no instance delivers to it now; changes that wait: [05]\n){2}$/,
    );
    const third = await startService(folder, { ...environment, ...both });
    await eventually(() => hasReceived(other, 6));
    expect(bodies(other)).toEqual([...all, record(5n)]);
    expect(other.repeated()).toBe(1);
    expect(receiver.received).toHaveLength(5);
    await stopped(third);
  });
});

test('whatever is created while the database is being migrated is announced', async () => {
  const { url: DATABASE_URL } = await emptyDatabase();
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL, ACCESS_TOKENS: TOKEN, ...webhooksTo(receiver.url) };
  const service = await startService(folder, environment);
  const send = sendTo(service);
  const migration = startNode([projectFile('src/migrate.ts')], folder, environment);
  const created: bigint[] = [];
  for (let id = 1n; created.length < 20; id++) {
    if ((await send(...create(id))) === 200) created.push(id);
    await delay(20);
  }
  expect(await migration.exited).toEqual({ code: 0, signal: null });
  await eventually(() => hasAll(receiver, created), 10_000);
  await stopped(service);
});
