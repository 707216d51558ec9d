import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { showProgress } from '../../src/cli/progress.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** ECMA-48: erase the line, and go to its first column. */
const ERASE = '\x1B[2K\x1B[1G';

/** Where the progress goes: a terminal, or a file. */
function output(isTTY: boolean) {
  const stream = new PassThrough({ encoding: 'utf8' });
  return { text: () => stream.read(), stream: Object.assign(stream, { isTTY }) as unknown as WriteStream };
}

const halfWay = () => '50 %, 30,000 plants';

test('redraws one line on a terminal, and removes it at the end', () => {
  const { text, stream } = output(true);
  const end = showProgress(halfWay, stream);
  jest.advanceTimersByTime(1_000);
  expect(text()).toBe(`${ERASE}${halfWay()}`.repeat(4));
  end();
  expect(text()).toBe(ERASE);
});

test('writes a plain line every few seconds elsewhere', () => {
  const { text, stream } = output(false);
  const end = showProgress(halfWay, stream);
  jest.advanceTimersByTime(10_000);
  end();
  jest.advanceTimersByTime(60_000);
  expect(text()).toBe(`${halfWay()}\n`.repeat(2));
});
