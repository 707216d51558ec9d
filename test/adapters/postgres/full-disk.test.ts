import { expect, jest, test } from '@jest/globals';
import { failureOf } from '../../../src/adapters/postgres/failures.ts';
import { recentFailure } from '../../../src/adapters/sql/recent-failure.ts';

const failure = (code: string, routine = '') => Object.assign(new Error(), { severity: 'ERROR', code, routine });

test.each([
  ['no room on the disk', failure('53100')],
  ['a used-up quota', failure('XX000', 'mdzeroextend')],
])('a database that has found %s has this problem for half a minute', (_what, error) => {
  jest.useFakeTimers();
  const disk = recentFailure(failureOf);
  disk.note(failure('XX000', 'heap_insert'));
  disk.note(failure('23514'));
  disk.note(new Error('a defect'));
  expect(disk.problem()).toBeUndefined();
  disk.note(error);
  jest.advanceTimersByTime(20_000);
  disk.note(error);
  jest.advanceTimersByTime(30_000);
  expect(disk.problem()).toMatch(/disk .* is full, .* make room$/);
  jest.advanceTimersByTime(1);
  expect(disk.problem()).toBeUndefined();
  jest.useRealTimers();
});
