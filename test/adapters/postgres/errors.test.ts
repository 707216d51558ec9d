import { describe, expect, test } from '@jest/globals';
import { DeadlineError } from '../../../src/adapters/postgres/batcher.ts';
import { meaningOf, translated } from '../../../src/adapters/postgres/errors.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';

const postgres = (code: string) => Object.assign(new Error('refused'), { severity: 'ERROR', code });
const system = (code: string) => Object.assign(new Error('no connection'), { code });

describe.each([
  ['08006', 'connection failure', 'transient'],
  ['53300', 'too many connections', 'transient'],
  ['57P01', 'admin shutdown', 'transient'],
  ['25006', 'read-only', 'transient'],
  ['40001', 'serialization failure', 'transient'],
  ['40P01', 'deadlock', 'transient'],
  ['57014', 'cancelled', 'rows_fault'],
  ['55P03', 'lock not available', 'rows_fault'],
  ['23514', 'a check of the table', 'rows_fault'],
  ['22P05', 'untranslatable character', 'rows_fault'],
  ['42P01', 'no such table', 'unavailable'],
  ['3D000', 'no such database', 'unavailable'],
  ['28P01', 'wrong password', 'unavailable'],
  ['42601', 'syntax error', 'defect'],
  ['42501', 'insufficient privilege', 'defect'],
])('SQLSTATE %s, %s', (code, _name, meaning) => {
  test(`means ${meaning}`, () => expect(meaningOf(postgres(code))).toBe(meaning));
});

test('takes an error of the system or the driver for a lost connection, and a programmer’s for a defect', () => {
  expect(meaningOf(system('EPIPE'))).toBe('transient');
  expect(meaningOf(new Error('Connection terminated unexpectedly'))).toBe('transient');
  expect(meaningOf(new TypeError('x is undefined'))).toBe('defect');
});

test('does not try again what was refused for good, such as pending migrations', () => {
  expect(meaningOf(new PlantStoreError('store_unavailable', 'migrations are pending'))).toBe('unavailable');
});

test.each([postgres('08006'), postgres('57014'), postgres('28P01'), system('ECONNREFUSED'), new DeadlineError('late')])(
  'tells the port that the store is unavailable for %s',
  (error) => {
    expect(translated(error)).toMatchObject({ code: 'store_unavailable', cause: error });
  },
);

test('passes on a defect, a refused value and what is translated already as they are', () => {
  for (const error of [postgres('42601'), postgres('23514'), new PlantStoreError('store_unavailable', 'later')]) {
    expect(translated(error)).toBe(error);
  }
});
