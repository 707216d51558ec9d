import { expect, test } from '@jest/globals';
import { lockRows, observed } from '../../../support/disturbances.ts';
import { many } from '../../../support/plants/plant-lines.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* A database that is slow for a while, with the limits that a service has by default. */

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
