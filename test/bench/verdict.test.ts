import { expect, test } from '@jest/globals';
import { verdict } from '../../bench/harness/results.ts';

/* What npm run bench -- versions fails for. */

const calm = [0.97, 1, 1.02, 0.98, 1.03];

test.each([
  ['at its target', [1.1, 0.9, 1], calm, 1, 'yes'],
  ["above it by less than the control's spread", [1.02, 1.01, 1.2], calm, 1, 'yes'],
  ['above it by more', [1.03, 1.03, 0.5], calm, 1, 'NO'],
  ['above a target that asks for less', [0.9, 0.91, 0.9], calm, 0.85, 'NO'],
  ['beside a control that differs from itself', [0.5], [1.2, 0.9, 1.06], 1, 'too noisy: repeat'],
  ['that could not be measured', [Number.NaN], [Number.NaN], 1, 'too noisy: repeat'],
])('a median %s', (_, ratios, control, target, word) => {
  const { cells, holds } = verdict(ratios, control, target);
  expect({ word: cells.at(-1), holds }).toEqual({ word, holds: word === 'yes' });
});

test('nothing is asked of a figure without a target', () => {
  expect(verdict([2], [1], undefined)).toMatchObject({ holds: true });
});
