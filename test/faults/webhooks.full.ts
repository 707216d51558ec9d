import { setTimeout as delay } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ROUNDS, startMortalService } from '../support/faults/crash-rounds.ts';
import { migratedPostgres } from '../support/servers/own-postgres.ts';
import { storedPlantsAt } from '../support/test-database.ts';
import { agrees, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * An instance that delivers webhooks and dies or stands still. Under everything at once: change-feed.full; with clocks that jump
 * and receivers in trouble: the simulation.
 */

jest.setTimeout(60 * 60_000);

test.each([
  ['is killed', 'SIGKILL'],
  ['is frozen, until long after its lease', 'SIGSTOP'],
] as const)('another instance delivers within 36 s when the one that did %s', async (_, signal) => {
  const { url } = await migratedPostgres();
  const receiver = await startReceiver();
  const start = () =>
    startMortalService(() => ({ DATABASE_URL: url, LOG_LEVEL: 'fatal', ...webhooksTo(receiver.url) }));
  const first = await start();
  const holder = async () => (await execute(url, 'select holder from webhooks'))[0]?.holder;
  await eventually(async () => typeof (await holder()) === 'string');
  const firstHolder = await holder();
  const client = apiClient((await start()).url);
  let id = 0;
  const create = async (plants: number) => {
    for (let n = 0; n < plants; n++) {
      const { status } = await client.send('POST', '/plants', { body: `{"id":${++id},"name":"${id}"}` });
      expect(status).toBe(200);
    }
  };
  // Also on a busy machine, where the 36 s may become more.
  const areAnnounced = () => eventually(() => receiver.copy.size === id);
  let late = 0;
  receiver.trouble((request, response) => {
    if (late++ < 20) return false;
    // In the middle of a page.
    first.signal(signal);
    receiver.trouble(undefined);
    request.resume();
    response.writeHead(500).end();
    return true;
  });
  await create(300);
  await eventually(() => late > 20);
  await areAnnounced();
  expect(await holder()).not.toBe(firstHolder);
  // The page that it had sent before it had stored that, and requests that were on their way.
  expect(receiver.repeated()).toBeLessThanOrEqual(200 + 32);
  if (signal === 'SIGSTOP') {
    // Longer than its lease, by any clock.
    await delay(ROUNDS > 1 ? 60_000 : 5_000);
    const before = receiver.received.length;
    first.signal('SIGCONT');
    await delay(5_000);
    expect(receiver.received.length - before).toBeLessThanOrEqual(32);
  }
  await create(5);
  await areAnnounced();
  expect(agrees(receiver, await storedPlantsAt(url))).toBe(true);
});
