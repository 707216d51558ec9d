import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { placesGate } from '../../../../src/adapters/postgres/webhooks/webhook-places.ts';

/* When plants can be written beside webhooks. */

const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const failure = (code: string) => Object.assign(new Error('failed'), { severity: 'ERROR', code });

test('not before every endpoint has its place in the feed', async () => {
  let problem: unknown = failure('57P01');
  const hasPlaces = async () => {
    if (problem !== undefined) throw problem;
  };
  const gate = placesGate(hasPlaces, () => undefined, log);
  await expect(gate()).rejects.toMatchObject({ code: '57P01' });
  problem = undefined;
  await gate();
  expect(gate()).toBeUndefined();
});

test('although the role lacks a right that only webhooks need, which is logged', async () => {
  const gate = placesGate(
    () => Promise.reject(failure('42501')),
    () => undefined,
    log,
  );
  await gate();
  expect(gate()).toBeUndefined();
  expect(lines).toEqual([expect.stringContaining('not announced by webhooks')]);
});
