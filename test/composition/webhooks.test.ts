import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { openStore } from '../../src/composition/open-store.ts';
import { atEnd } from '../support/lifetimes.ts';
import { migratedDatabase } from '../support/test-database.ts';

test('plants may be written once each endpoint has its place in the feed, or they would not be announced', async () => {
  const { url, query } = await migratedDatabase();
  const store = await openStore(
    {
      database: {
        kind: 'postgres',
        url,
        poolSize: 2,
        connectTimeout: 2_000,
        statementTimeout: 10_000,
        idleTimeout: 1_000,
      },
      storeTimeout: 20_000,
      batchRows: 256,
      webhooks: [{ name: 'an endpoint', url: 'http://127.0.0.1:1/', secrets: [] }],
    },
    { log: pino({ level: 'silent' }), onInsert: () => {} },
  );
  atEnd(store.close);
  const plant = { id: 1n, name: 'Ficus' };
  const [outcome] = await store.write([{ id: 1n, target: plant, adds: true, replaces: () => false }]);
  expect(await outcome).toEqual({ before: undefined, after: plant });
  expect(await query('select endpoint from webhooks')).toEqual([{ endpoint: 'an endpoint' }]);
});
