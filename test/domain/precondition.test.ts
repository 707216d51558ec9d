import { expect, test } from '@jest/globals';
import { changed, fingerprintOf, type Precondition } from '../../src/domain/precondition.ts';

const ficus = { id: 9223372036854775807n, name: 'Ficus "carica"\n🌿', tag: '' };
const other = { ...ficus, name: 'Ficus elastica' };

test('the fingerprint of a plant is unique to it, and never changes', () => {
  const { id, name } = ficus;
  const all = [ficus, other, { ...ficus, id: 1n }, { id, name }, { id, name, tag: 'null' }];
  expect(new Set(all.map(fingerprintOf)).size).toBe(all.length);
  // Clients have it as an ETag from earlier versions.
  expect(fingerprintOf(ficus)).toBe('RE9r0qZECtzYqYFT9x864V_Z_i8A_EqG0MT-6Cg7L9o');
});

const [its, others] = [[fingerprintOf(ficus)], [fingerprintOf(other)]];

test.each<[Precondition, isMet: boolean, isMetAgain: boolean]>([
  [{}, true, true],
  [{ matches: its }, true, true],
  [{ matches: others }, false, true],
  [{ excludes: others }, true, false],
  [{ excludes: its }, false, true],
  [{ excludes: 'any' }, false, false],
  [{ matches: its, excludes: 'any' }, false, false],
])('%j: is met by a plant %s, and by one that is as wanted already %s', (precondition, isMet, isMetAgain) => {
  expect(changed(ficus, other, precondition)).toEqual(isMet ? other : 'unmet');
  expect(changed(ficus, 'deleted', precondition)).toBe(isMet ? 'deleted' : 'unmet');
  expect(changed(other, other, precondition)).toEqual(isMetAgain ? other : 'unmet');
  expect(changed('deleted', other, precondition)).toBe('deleted');
});
