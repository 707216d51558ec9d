import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { showProgress } from '../../src/cli/progress.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** ECMA-48: erase the line, and go to its first column. */
const ERASE = '\x1B[2K\x1B[1G';
const HALF_WAY = '50 %, 30,000 plants';

test.each([
  ['redraws one line on a terminal, and removes it at the end', true, 1_000, `${ERASE}${HALF_WAY}`.repeat(4), ERASE],
  ['writes a plain line every few seconds elsewhere', false, 10_000, `${HALF_WAY}\n`.repeat(2), null],
])('%s', (_what, isTTY, milliseconds, shown, atEnd) => {
  const stream = new PassThrough({ encoding: 'utf8' });
  const end = showProgress(() => HALF_WAY, Object.assign(stream, { isTTY }) as unknown as WriteStream);
  jest.advanceTimersByTime(milliseconds);
  expect(stream.read()).toBe(shown);
  end();
  jest.advanceTimersByTime(60_000);
  expect(stream.read()).toBe(atEnd);
});
