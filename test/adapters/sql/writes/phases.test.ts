import { describe, expect, test } from '@jest/globals';
import type { StatementFailure } from '../../../../src/adapters/sql/dialect.ts';
import * as phases from '../../../../src/adapters/sql/writes/phases.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import type { Precondition } from '../../../../src/domain/precondition.ts';
import { is } from '../../../support/plants/unchecked-plants.ts';

/* Where the writes of a list go on, given what a statement has returned. */

const NOW = 1_000;
const plant = (name: string, id = 1n): NewPlant => ({ id, name });
const [a, b, c] = [plant('a'), plant('b'), plant('c')];

const write = (target: NewPlant | 'deleted', adds: boolean, precondition: Precondition): phases.Write => {
  return { id: target === 'deleted' ? 1n : target.id, target, adds, precondition };
};
const adds = (target: NewPlant, precondition: Precondition = { excludes: 'any' }) => write(target, true, precondition);
const changes = (target: NewPlant, precondition = {}) => write(target, false, precondition);

const begun = (...writes: phases.Write[]) =>
  writes.map((item) => phases.begun({ item, until: NOW + 1, resolve() {}, reject() {} }));
/** Of writes whose ids were taken. */
const taken = (...writes: phases.Write[]) => phases.afterInsert(begun(...writes), new Set());
function lookedUp(list: readonly phases.Pending[], stored: NewPlant | 'deleted' | undefined, now = NOW) {
  return phases.afterLookUp(list, new Map(stored === undefined ? [] : [[1n, { stored, version: 7n }]]), now);
}
/** @param isUncertain whether the statement may have been done */
function afterFailure(list: readonly phases.Pending[], failure: object, isUncertain = false) {
  const statement = { means: 'transient', ...failure } as StatementFailure;
  return phases.afterFailure(list, { ...statement, error: 'why', isSlowAgain: false, isUncertain }, NOW);
}
/** What writes end with: their outcomes, or the phases where they go on. */
const ends = (list: readonly phases.Pending[]) =>
  list.map(({ state }) => (state.at === 'done' ? state.written.after : state.at));

test('a look-up begins nothing that nobody waits for, and leads to no third INSERT', () => {
  expect(ends(lookedUp(taken(changes(b)), a, NOW + 1))).toEqual(['failed']);
  const second = lookedUp(taken(adds(a)), undefined);
  expect(ends(lookedUp(phases.afterInsert(second, new Set()), undefined))).toEqual(['failed']);
});

describe('writes of one plant', () => {
  const planned = lookedUp(taken(changes(b, is(a)), changes(c, is(a)), write('deleted', false, is(b)), changes(c)), a);
  const all = (phase: string) => Array(4).fill(phase);

  test('take effect in their order, in one UPDATE of the version that was found', () => {
    expect(phases.rowChanges(planned)).toEqual([{ before: a, version: 7n, after: 'deleted' }]);
    expect(ends(phases.afterUpdate(planned, new Set()))).toEqual([b, 'unmet', 'deleted', 'deleted']);
    expect(phases.rowChanges(lookedUp(taken(changes(b), changes(a)), a))).toEqual([]);
  });

  test('are looked up again together, after a pause, if the UPDATE has missed their row', () => {
    const missed = phases.afterUpdate(planned, new Set([1n]));
    expect(ends(missed)).toEqual(all('retry'));
    expect(ends(phases.afterPause(missed, NOW))).toEqual(all('lookUp'));
    expect(ends(phases.afterPause(missed, NOW + 1))).toEqual(all('failed'));
  });

  test('are looked up again before they are repeated in parts', () => {
    const parts = afterFailure([...planned, ...begun(adds(a))], { mayBeOneRowsFault: true });
    expect(parts?.map(ends)).toEqual([...all('lookUp'), 'insert'].map((phase) => [phase]));
  });
});

test('a list that one row may have made fail goes on in parts that know of its INSERT', () => {
  const parts = afterFailure(begun(adds(a), adds(b)), { mayBeOneRowsFault: true }, true);
  expect(parts?.map((part) => part.map(({ isUncertain }) => isUncertain))).toEqual([[true], [true]]);
});
