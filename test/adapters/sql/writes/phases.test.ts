import { expect, test } from '@jest/globals';
import * as phases from '../../../../src/adapters/sql/writes/phases.ts';

/* What neither test/simulation nor a database shows: the deadline of one write passes before that of its list. */

test('a look-up begins nothing that nobody waits for any more', () => {
  const item = { id: 1n, target: { id: 1n, name: 'new' }, adds: false, precondition: {} };
  const list = [phases.begun({ item, until: 1_000, resolve() {}, reject() {} })];
  const found = new Map([[1n, { stored: { id: 1n, name: 'old' }, version: 7n }]]);
  const ends = [999, 1_000].map((now) => phases.afterLookUp(list, found, now)[0]?.state.at);
  expect(ends).toEqual(['update', 'failed']);
});
