import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { eventually } from '../support/eventually.ts';
import { ROUNDS } from '../support/faults/crash-rounds.ts';
import { migratedPostgres, promote, shutDown } from '../support/servers/own-postgres.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { startReceiver } from '../support/webhooks/webhook-receiver.ts';
import { record, sendTo, startAnnouncing, stopped } from '../support/webhooks/webhook-service.ts';

/*
 * A database that is set back under a running service: webhooks were sent of transactions that it does not have any more, and
 * the next one has a lower number than they had.
 */

jest.setTimeout(60 * 60_000);

/** Milliseconds in which a plant that is created then is announced. */
const LATEST = 40_000;

/** Plants of a round that are lost. */
const LOST = 10n;

const run = promisify(execFile);

test.each([
  ['a standby that lacks the last transactions is promoted', true],
  ['its files are restored to an earlier moment', false],
])('webhooks go on at once when %s', async (_what, isPromotion) => {
  let server = await migratedPostgres();
  const receiver = await startReceiver();
  const service = await startAnnouncing(server.url, receiver);
  const send = sendTo(service);
  let next = 1n;
  const create = async () => {
    const body = record(next++);
    await eventually(async () => (await send('POST', '/plants', { body })) === 200);
    return body;
  };
  const isAnnounced = (body: string) => receiver.received.some((one) => one.body === body);

  for (let round = 0; round < ROUNDS; round++) {
    const kept = await create();
    await eventually(() => isAnnounced(kept));
    await shutDown(server);
    const earlier = join(await temporaryFolder(), 'data');
    await run('cp', ['-a', server.dataFolder, earlier]);
    server = await server.restart();
    let lost = '';
    for (let n = 0n; n < LOST; n++) lost = await create();
    await eventually(async () => isAnnounced(lost) && (await isStored(server.url)));

    await shutDown(server, 'SIGQUIT');
    await rm(server.dataFolder, { recursive: true });
    await run('cp', ['-a', earlier, server.dataFolder]);
    if (isPromotion) await run('cp', ['-p', join(earlier, 'PG_VERSION'), join(server.dataFolder, 'standby.signal')]);
    server = await server.restart();
    if (isPromotion) await promote(server);
    const body = await create();
    await eventually(() => isAnnounced(body), LATEST);
  }
  await stopped(service);
  expect(await execute(server.url, 'select count(*) from plants where changed > 0')).toEqual([
    { count: `${2 * ROUNDS}` },
  ]);
});

/** Whether the position of the only endpoint is that of the last plant. */
async function isStored(url: string): Promise<boolean> {
  const last = '(select changed, id from plants order by changed desc, id desc limit 1)';
  return (await execute(url, `select from webhooks where (changed, id) = ${last}`)).length === 1;
}
