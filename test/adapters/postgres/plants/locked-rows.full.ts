import { expect, test } from '@jest/globals';
import { lockRows } from '../../../support/disturbances.ts';
import { many } from '../../../support/plants/plant-lines.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* What a locked row must not do to the plants that share a statement with it. */

const STATEMENT_TIMEOUT = 300;

test('delays only a locked row behind a pooler that drops the limits, and says so', async () => {
  const server = await migratedDatabase();
  const database = connect(server.url, { statementTimeout: STATEMENT_TIMEOUT });
  // The same length, so that the message stays valid.
  const withoutLimits = (opening: Buffer) => {
    const text = opening.toString('latin1');
    return Buffer.from(
      text.replaceAll(/(?<=timeout\0)\d+(?=\0)/g, (limit) => '0'.repeat(limit.length)),
      'latin1',
    );
  };
  const pooler = await startTcpProxy(server.url, withoutLimits);
  const poolSize = 4;
  // By whatever name the service goes.
  const unlimited = connect(`${pooler.url}?application_name=garden`, { statementTimeout: STATEMENT_TIMEOUT, poolSize });
  await lockRows(server.url, [1n]);
  await expect(unlimited.verify()).rejects.toThrow(
    /^lock_timeout is 0 ms and statement_timeout is 0 ms for this role .*: run ALTER ROLE postgres SET lock_timeout = '150ms'/,
  );
  await expect(database.verify()).resolves.toBeUndefined();
  const plants = plantsIn(unlimited, { timeout: 5_000 });
  await plants.find(0n);
  // The first leaves at once, since the dialect is known, and alone. Of the others the locked row comes last, so that what is
  // repeated first is another one. The statement that cannot be stopped holds what it inserted before: nothing here.
  const all = [...many(1), ...many(64).slice(1).toReversed()];
  const outcomes = await Promise.allSettled(all.map((plant) => plants.add(plant)));
  expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([63]);
  // Asked for again and again, beside creates that succeed.
  const impatient = plantsIn(unlimited, { timeout: 3 * STATEMENT_TIMEOUT });
  for (let n = 0; n < 2 * poolSize; n++) {
    await Promise.allSettled([
      impatient.add({ id: 1n, name: 'mine' }),
      impatient.add({ id: BigInt(1_000 + n), name: 'x' }),
    ]);
  }
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const left = (await server.query(waiting)).length;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(2 * poolSize);
});
