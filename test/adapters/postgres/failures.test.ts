import { expect, jest, test } from '@jest/globals';
import { ConnectionError, failureOf, UnknownOutcomeError } from '../../../src/adapters/postgres/failures.ts';
import { recentFailure } from '../../../src/adapters/sql/recent-failure.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';

const postgres = (code: string, routine = '') =>
  Object.assign(new Error('refused'), { severity: 'ERROR', code, routine });
const system = (code: string) => Object.assign(new Error('no connection'), { code });
const meaningOf = (error: unknown) => failureOf(error).means;
/** Postgres takes no more transactions, since their ids would wrap around. */
const noId = postgres('54000', 'GetNewTransactionId');
const noResponse = new UnknownOutcomeError('no_response', 'late');

test.each([
  ['08006', 'connection failure', 'transient'],
  ['53300', 'too many connections', 'transient'],
  ['25006', 'read-only', 'transient'],
  ['40P01', 'deadlock', 'transient'],
  ['57014', 'cancelled, or too slow', 'transient'],
  ['55P03', 'lock not available', 'blocked'],
  ['25P04', 'transaction timeout', 'blocked'],
  ['P0001', 'an exception of a trigger', 'refused'],
  ['XX000', 'an internal error, as of Citus that has lost a node', 'transient'],
  ['53100', 'a full disk', 'unavailable'],
  ['42P01', 'no such table', 'unavailable'],
  ['28P01', 'wrong password', 'unavailable'],
  ['42501', 'insufficient privilege', 'unavailable'],
])('SQLSTATE %s, %s, means %s', (code, _name, meaning) => expect(meaningOf(postgres(code))).toBe(meaning));

test('tells transient failures of connecting from final ones and from defects', () => {
  expect(meaningOf(new ConnectionError(system('EPIPE')))).toBe('transient');
  expect(meaningOf(new ConnectionError(new Error('timeout exceeded when trying to connect')))).toBe('transient');
  expect(meaningOf(new ConnectionError(postgres('28P01')))).toBe('unavailable');
  expect(meaningOf(noId)).toBe('unavailable');
  expect(meaningOf(new PlantStoreError('store_unavailable', 'migrations are pending'))).toBe('unavailable');
  // Limits of Postgres and Supavisor, a setting that the server does not have, and Postgres's authentication_timeout.
  for (const code of ['53300', 'XX000', '22023', '57014'])
    expect(meaningOf(new ConnectionError(postgres(code)))).toBe('transient');
  expect(meaningOf(new Error('a library was used wrongly'))).toBe('defect');
  expect(meaningOf(new TypeError('x is undefined'))).toBe('defect');
});

test('names every address of a host when all of them refuse', () => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED')]);
  expect(new ConnectionError(refused)).toMatchObject({ message: 'connect ECONNREFUSED ::1:1, connect ECONNREFUSED' });
});

test('repeats a list in parts if one of its rows, or a lost node, may be the cause', () => {
  const refused = ['55P03', '23514', '54000', 'P0001', '42601'].map((code) => postgres(code));
  const rows = [noResponse, ...refused];
  const nodes = ['08006', 'XX000'].map((code) => postgres(code));
  // For lack of a privilege, a table, a connection or a transaction id, no row would fare better.
  const others = [
    noId,
    ...['42501', '42P01', '42703', '40P01', '53100', '08P01', '57014'].map((code) => postgres(code)),
  ];
  const defect = new TypeError('a value that cannot be encoded');
  const all = [...rows, ...nodes, defect, ...others];
  expect(all.filter((error) => failureOf(error).mayBeOneRowsFault)).toEqual([...rows, ...nodes, defect]);
});

test.each([
  ['no room on the disk', postgres('53100')],
  ['a used-up quota', postgres('XX000', 'mdzeroextend')],
])('a database that has found %s has this problem for half a minute', (_what, error) => {
  jest.useFakeTimers();
  const disk = recentFailure(failureOf);
  for (const other of [postgres('XX000', 'heap_insert'), postgres('23514'), new Error('a defect')]) disk.note(other);
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
