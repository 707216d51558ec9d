import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { toPortError } from '../../../../src/adapters/postgres/failures.ts';
import { positionsGate } from '../../../../src/adapters/postgres/webhooks/webhook-positions.ts';

/* When the plants can be used beside webhooks. */

const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const failure = (code: string) => toPortError(Object.assign(new Error('failed'), { severity: 'ERROR', code }));

test('not before every endpoint has its place in the feed', async () => {
  let problem: unknown = failure('57P01');
  const add = async () => {
    if (problem !== undefined) throw problem;
  };
  const gate = positionsGate(['one', 'other'], add, () => undefined, log);
  await expect(gate()).rejects.toMatchObject({ code: 'store_unavailable' });
  problem = undefined;
  await gate();
  expect(gate()).toBeUndefined();
});

test('although the role lacks a right that only webhooks need, which is logged', async () => {
  const gate = positionsGate(
    ['one'],
    () => Promise.reject(failure('42501')),
    () => undefined,
    log,
  );
  await gate();
  expect(gate()).toBeUndefined();
  expect(lines).toEqual([expect.stringContaining('not announced by webhooks')]);
});
