import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from './support/eventually.ts';
import { counts, startImport } from './support/import-process.ts';
import { startProgram, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, type TestDatabase } from './support/test-database.ts';

/* Ctrl-C and SIGTERM while an import waits for its list. */

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = await temporaryFolder();
  database = await migratedDatabase();
});
afterEach(() => database.drop());

const start = (args: readonly string[]) => startImport(args, folder, { DATABASE_URL: database.url });

/** Whether an import has come as far as asking the database: by then it has opened its list. */
async function isConnected(): Promise<boolean> {
  const others = 'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  return (await database.query(others)).length > 0;
}

describe('from a FIFO', () => {
  beforeEach(async () => {
    await startProgram('mkfifo', ['plants.ndjson'], { cwd: folder }).exited;
  });

  /** Opens it for writing; with 'w' alone that would wait for a reader. */
  const openWriter = () => open(join(folder, 'plants.ndjson'), 'r+');

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'ends in order at %s while nobody has opened it to write',
    async (signal, code) => {
      const importing = start(['plants.ndjson']);
      await eventually(isConnected);
      importing.kill(signal);
      expect(await importing.exited).toEqual({ code, signal: null });
      expect(importing.stderr()).toContain('Interrupted.');
    },
    60_000,
  );

  test('ends in order while its writer stalls within a line', async () => {
    const importing = start(['plants.ndjson']);
    await using writer = await openWriter();
    await writer.write('{"id":1,"name":"Rosa"}\n{"id":2,"na');
    await eventually(async () => (await database.query('select from plants')).length === 1);
    importing.kill('SIGINT');
    expect(await importing.exited).toEqual({ code: 130, signal: null });
    expect(counts(importing.stdout())).toEqual({ created: 1, 'already there': 0, conflicting: 0, invalid: 0 });
  }, 60_000);

  test('reads on until its writer closes it', async () => {
    const importing = start(['plants.ndjson']);
    const writer = await openWriter();
    await writer.write('{"id":1,"name":"Rosa"}\n{"id":2,"na');
    await eventually(async () => (await database.query('select from plants')).length === 1);
    await writer.write('me":"Acer"}');
    await writer.close();
    expect(await importing.exited).toEqual({ code: 0, signal: null });
    expect(counts(importing.stdout()).created).toBe(2);
  }, 60_000);
});

test('ends at once at a second signal although a read of the list never returns', async () => {
  // The near end of a new terminal that nobody types at.
  const importing = start(['/dev/ptmx', '--format', 'csv', '--rejected', 'rejected']);
  await importing.until(() => importing.stderr().includes('nothing new for'));
  importing.kill('SIGINT');
  await importing.until(() => importing.stderr().includes('a second signal stops at once'));
  importing.kill('SIGINT');
  // Which a shell reports as 130.
  expect(await importing.exited).toEqual({ code: null, signal: 'SIGINT' });
}, 60_000);
