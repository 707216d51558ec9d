import { describe, expect, test } from '@jest/globals';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import {
  all,
  backends,
  create,
  network,
  postgres,
  query,
  recovers,
  terminateBackends,
} from '../support/faults/troubled-service.ts';
import { freeze } from '../support/servers/local-process.ts';

/* Faults of single connections and statements, which no client notices. */

describe('answers 200 in time, since a fresh connection settles it', () => {
  test.each<[string, () => unknown]>([
    ['are all reset', () => network.cut()],
    ['are ended by pg_terminate_backend', terminateBackends],
  ])('after connections %s while inserts run', async (_name, strike) => {
    const lock = await openTransaction(postgres.url, 'lock table plants');
    const creating = create(8);
    await eventually(async () => (await query('select from pg_locks where not granted')).length > 1);
    await strike();
    await lock.query('rollback');
    expect(await creating).toEqual(all(8, 200));
    await recovers();
  });

  test('after connections that are all dead without a word', async () => {
    network.swallow();
    network.pass();
    expect(await create(1)).toEqual([200]);
    expect(await create(8)).toEqual(all(8, 200));
    await recovers();
  });

  test('beside statements that never return', async () => {
    const goOn = freeze(await backends());
    try {
      expect(await create(1)).toEqual([200]);
      expect(await create(8)).toEqual(all(8, 200));
    } finally {
      goOn();
    }
    await recovers();
  });
});
