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
const removes = (precondition: Precondition) => write('deleted', false, precondition);

const begun = (...writes: phases.Write[]) =>
  writes.map((item) => phases.begun({ item, until: NOW + 1, resolve() {}, reject() {} }));
/** Of writes whose ids were taken. */
const taken = (...writes: phases.Write[]) => phases.afterInsert(begun(...writes), new Set());
function lookedUp(list: readonly phases.Pending[], stored: NewPlant | 'deleted' | undefined, now = NOW) {
  return phases.afterLookUp(list, new Map(stored === undefined ? [] : [[1n, { stored, version: 7n }]]), now);
}
/** An attempt with such a failure, whose statement may have been done if that is said. */
const failedAttempt = (failure: object, isUncertain = false) => ({
  error: 'why',
  ...({ means: 'transient', ...failure } as StatementFailure),
  isSlowAgain: false,
  isUncertain,
});
/** What writes end with: their outcomes, or the phases where they go on. */
const ends = (list: readonly phases.Pending[]) =>
  list.map(({ state }) => (state.at === 'done' ? state.written.after : state.at));

test('the first that adds a free id has created its plant, others are looked up', () => {
  const list = begun(adds(a), adds(b), adds(plant('taken', 2n)), changes(plant('c', 3n)));
  expect(phases.plantsToInsert(list)).toEqual([a, plant('taken', 2n)]);
  expect(ends(phases.afterInsert(list, new Set([1n])))).toEqual([a, 'lookUp', 'lookUp', 'lookUp']);
});

describe('a look-up', () => {
  test.each<[string, phases.Write, NewPlant | 'deleted' | undefined, unknown]>([
    ['an addition, the same plant', adds(a), a, 'unmet'],
    ['an addition, another plant', adds(b), a, 'unmet'],
    ['an addition that replaces, another plant', adds(b, {}), a, 'update'],
    ['an addition that replaces, a deleted plant', adds(a, {}), 'deleted', 'deleted'],
    ['an addition, nothing, since a deleted plant was purged', adds(a), undefined, 'insert'],
    ['a change, nothing', changes(b), undefined, undefined],
    ['a change, a deleted plant', changes(b, is(a)), 'deleted', 'deleted'],
    ['a change, the expected plant', changes(b, is(a)), a, 'update'],
    ['a change, an unexpected plant', changes(b, is(c)), a, 'unmet'],
    ['a change that was done, its own plant', changes(b, is(a)), b, b],
    ['a deletion, the expected plant', removes(is(a)), a, 'update'],
    ['a deletion, an unexpected plant', removes(is(b)), a, 'unmet'],
  ])('finds for %s', (_what, write, stored, outcome) => {
    expect(ends(lookedUp(taken(write), stored))).toEqual([outcome]);
  });

  test.each([
    [a, a],
    [b, 'failed'],
    ['deleted' as const, 'failed'],
    [undefined, 'insert'],
  ])('after an INSERT whose response was lost finds %j', (stored, outcome) => {
    const lost = phases.afterInsert(phases.afterLostInsert(begun(adds(a, {}))), new Set());
    expect(ends(lookedUp([...taken(changes(c)), ...lost], stored)).at(-1)).toEqual(outcome);
  });

  test('begins nothing that nobody waits for, and leads to no third INSERT', () => {
    expect(ends(lookedUp(taken(changes(b)), a, NOW + 1))).toEqual(['failed']);
    const second = lookedUp(taken(adds(a)), undefined);
    expect(ends(lookedUp(phases.afterInsert(second, new Set()), undefined))).toEqual(['failed']);
  });
});

describe('writes of one plant', () => {
  const planned = lookedUp(taken(changes(b, is(a)), changes(c, is(a)), removes(is(b)), changes(c)), a);
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
    const parts = phases.afterFailure([...planned, ...begun(adds(a))], failedAttempt({ mayBeOneRowsFault: true }));
    expect(parts?.map(ends)).toEqual([...all('lookUp'), 'insert'].map((phase) => [phase]));
  });
});

describe('after a failure', () => {
  const update = lookedUp(taken(changes(b), changes(c)), a);
  const oneRow = { mayBeOneRowsFault: true };

  test('an INSERT is repeated whatever its outcome', () => {
    expect(phases.afterFailure(begun(adds(a)), failedAttempt({}, true))).toBeUndefined();
  });

  test('that one row may have caused, a list goes on in parts that know of its INSERT', () => {
    const parts = phases.afterFailure(begun(adds(a), adds(b)), failedAttempt(oneRow, true));
    expect(parts?.map((part) => part.map(({ isUncertain }) => isUncertain))).toEqual([[true], [true]]);
  });

  test('all writes of an UPDATE of unknown outcome fail', () => {
    expect(phases.afterFailure(update, failedAttempt(oneRow, true))?.map(ends)).toEqual([['failed', 'failed']]);
  });
});
