import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { postgres } from '../../../../src/adapters/postgres/dialect.ts';
import { registrationGate } from '../../../../src/adapters/postgres/registration.ts';

/* When plants can be written beside webhooks. */

const lines: string[] = [];
const log = pino({}, { write: (line: string) => lines.push(line) });
const failure = (code: string) => Object.assign(new Error('failed'), { severity: 'ERROR', code });

test('not before every endpoint has its place in the feed', async () => {
  let problem: unknown = failure('57P01');
  const ensureRegistered = async () => {
    if (problem !== undefined) throw problem;
  };
  const gate = registrationGate(ensureRegistered, () => postgres, log);
  await expect(gate()).rejects.toMatchObject({ code: '57P01' });
  problem = undefined;
  await gate();
  expect(gate()).toBe(postgres);
});

test('not before the schema is ready, whose missing tables nobody else reports', async () => {
  lines.length = 0;
  let problem: Error | undefined = new Error('migrations are pending');
  const schemaReady = async () => {
    if (problem !== undefined) throw problem;
    return postgres;
  };
  const ensureRegistered = () => (problem === undefined ? undefined : Promise.reject(failure('42P01')));
  const gate = registrationGate(ensureRegistered, schemaReady, log);
  await expect(gate()).rejects.toThrow('migrations are pending');
  problem = undefined;
  await gate();
  expect(lines).toEqual([]);
});

test.each([
  ['the role lacks a right', '42501'],
  ['the database lacks a table', '42P01'],
])('although %s that only webhooks need, which is logged', async (_what, code) => {
  lines.length = 0;
  const gate = registrationGate(
    () => Promise.reject(failure(code)),
    () => postgres,
    log,
  );
  await gate();
  expect(gate()).toBe(postgres);
  expect(lines).toEqual([expect.stringContaining('not announced by webhooks')]);
});
