import { expect, test } from '@jest/globals';
import { summary } from '../../src/commands/summary.ts';

test('counts a plant that was created after its deadline had passed as created, and none as already there', () => {
  expect(summary({ stored: 1, conflicting: 0, invalid: 0 }, 2, 1)).toMatch(/^created {8}2\nalready there {2}0$/m);
});
