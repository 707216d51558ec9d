import { expect, test } from '@jest/globals';
import { lockRows, observed } from '../../../support/disturbances.ts';
import { many } from '../../../support/plants/plant-lines.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* What a locked row, and a database that is slow for a while, must not do to the plants that share a statement. */

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

/** Those that a service has by default. */
const LIMITS = { statementTimeout: 1_000 };
const STORE_TIMEOUT = { timeout: 5_000 };

/** A database whose INSERTs take 0.2 s each, and for the first second longer than they may. */
async function slowDatabase() {
  const server = await migratedDatabase();
  await server.query(`create function dawdle() returns trigger language plpgsql as $$begin
    perform pg_sleep(case when clock_timestamp() < '${new Date(Date.now() + 1_000).toISOString()}' then 1.3 else 0.2 end);
    return null; end$$`);
  await server.query('create trigger dawdling before insert on plants execute function dawdle()');
  return server;
}

test('creates all plants in few statements after a second in which each took too long', async () => {
  const server = await slowDatabase();
  let statements = 0;
  const plants = plantsIn(
    observed(connect(server.url, LIMITS), () => statements++),
    STORE_TIMEOUT,
  );
  await Promise.all(many(1_000).map((plant) => plants.add(plant)));
  expect(statements).toBeLessThanOrEqual(20);
});

test('keeps only the create of a locked row waiting if statements are slow as well', async () => {
  const server = await slowDatabase();
  await lockRows(server.url, [500n]);
  const plants = plantsIn(connect(server.url, LIMITS), STORE_TIMEOUT);
  const outcomes = await Promise.allSettled(many(1_000).map((plant) => plants.add(plant)));
  expect(outcomes.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([500]);
});
