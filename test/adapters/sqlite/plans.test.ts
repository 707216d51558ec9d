import { expect, test } from '@jest/globals';
import { webhookEndpoints } from '../../../src/adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../../../src/adapters/sql/webhooks/endpoints.ts';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { allReads } from '../../support/plants/all-reads.ts';

/* How SQLite reads, by the plans of the statements. */

test('no read of plants passes over the whole table, and no page is sorted', async () => {
  const file = await openEmbedded();
  const texts = new Set<string>();
  const prepare = file.sql.prepare.bind(file.sql);
  file.sql.prepare = (text) => {
    texts.add(text);
    return prepare(text);
  };
  const store = embeddedPlants(file);
  for (const [, read] of allReads) await read(store);
  await file.run('writes', (session) => enterEndpoints(session, ['an endpoint']));
  await webhookEndpoints(file.run).states();
  const range = { from: 0n, to: 99n, order: 'desc' as const };
  for (const part of [{}, { tag: 'green' }, { name: 'x' }, { tag: 'green', name: 'x' }]) {
    await store.list({ ...range, ...part }, 10);
    await store.count({ ...range, ...part }, 10);
  }
  const stepsOf = (text: string) =>
    prepare(`explain query plan ${text}`)
      .all()
      .map(({ detail }) => `${detail}`);
  const steps = [...texts].filter((text) => text.includes('from plants')).flatMap(stepsOf);
  expect(steps).toContainEqual(expect.stringMatching(/SEARCH plants USING (COVERING )?INDEX plants_by_tag/));
  // The end of the log of changes is a scan of its index that ends at once.
  expect(steps.filter((step) => step.startsWith('SCAN plants') && !step.endsWith('plants_by_change'))).toEqual([]);
  // A search puts its last row behind what it has found, and tags are sixteen.
  const pages = [...texts].filter((text) => !/^\s*with/.test(text));
  expect(pages.flatMap(stepsOf).filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
});
