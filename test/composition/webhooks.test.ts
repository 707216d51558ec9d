import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { webhooksOf } from '../../src/composition/webhooks.ts';
import { connect, migratedDatabase } from '../support/test-database.ts';

test('plants may be written once each endpoint has its place in the feed, or they would not be announced', async () => {
  const { url, query } = await migratedDatabase();
  const { writeReady } = webhooksOf([{ name: 'an endpoint', url: 'http://127.0.0.1:1/', secrets: [] }], {
    database: connect(url),
    schemaReady: () => undefined,
    log: pino({ level: 'silent' }),
    metrics: prometheusMetrics(),
  });
  await writeReady();
  expect(await query('select endpoint from webhooks')).toEqual([{ endpoint: 'an endpoint' }]);
});
