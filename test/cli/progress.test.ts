import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { progressText, showProgress } from '../../src/cli/progress.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** ECMA-48: erase the line, and go to its first column. */
const ERASE = '\x1B[2K\x1B[1G';

/** Where the progress goes: a terminal of 60 columns, or a file. */
function output(isTTY: boolean) {
  const stream = new PassThrough({ encoding: 'utf8' });
  return { text: () => stream.read(), stream: Object.assign(stream, { isTTY, columns: 60 }) as unknown as WriteStream };
}

const halfWay = () => ({ plants: 30_000, part: 500 / 1000 });

test('redraws one line on a terminal, no wider than that, and removes it at the end', () => {
  const { text, stream } = output(true);
  const end = showProgress(halfWay, stream);
  jest.advanceTimersByTime(1_000);
  const drawn = text().split(ERASE).slice(1);
  expect(drawn).toHaveLength(4);
  expect(drawn.at(-1)).toBe('[============            ] 50 %, 30,000 plants, 30,000/s, 0');
  end();
  expect(text()).toBe(ERASE);
});

test('writes a plain line every few seconds elsewhere', () => {
  const { text, stream } = output(false);
  const end = showProgress(halfWay, stream);
  jest.advanceTimersByTime(10_000);
  end();
  jest.advanceTimersByTime(60_000);
  expect(text()).toBe(
    '[============            ] 50 %, 30,000 plants, 6,000/s, 0:05 left\n' +
      '[============            ] 50 %, 30,000 plants, 3,000/s, 0:10 left\n',
  );
});

test.each([
  [{ plants: 10, part: undefined }, 1, '10 plants, 10/s'],
  [{ plants: 0, part: 0 }, 1, '[                        ] 0 %, 0 plants, 0/s'],
  [{ plants: 600_000, part: 1 / 101 }, 60, '[                        ] 0 %, 600,000 plants, 10,000/s, 1:40:00 left'],
])('says %j as people do', (progress, seconds, text) => {
  expect(progressText(progress, seconds)).toBe(text);
});
