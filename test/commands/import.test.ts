import { once } from 'node:events';
import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { lockFolder } from '../../src/adapters/postgres/embedded/folder-lock.ts';
import { execute } from '../../tooling/execute.ts';
import { startPostgresServer } from '../../tooling/postgres-server.ts';
import { openTransaction } from '../support/disturbances.ts';
import { atEnd, forEachTest } from '../support/lifetimes.ts';
import { counts, runImport, startImport } from '../support/programs/import-process.ts';
import { makePipe } from '../support/programs/named-pipe.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';
import { emptyDatabase, migratedDatabase } from '../support/test-database.ts';

/* npm run import as its own process, as people meet it. */

const EXAMPLES = projectFile('examples/plants.ndjson');

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

const run = (args: readonly string[], environment?: Record<string, string>) => runImport(args, folder, environment);

const list = async (name: string, content: string | Buffer) => {
  await writeFile(join(folder, name), content);
  return name;
};

const rejected = async (name: string) =>
  (await readFile(join(folder, name), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .toSorted((a, b) => a.line - b.line);

describe('into Postgres', () => {
  const database = forEachTest(migratedDatabase);

  const start = () => startImport(['-', '--format', 'ndjson'], folder, { DATABASE_URL: database.url });
  const run = (...args: string[]) => runImport(args, folder, { DATABASE_URL: database.url });

  test('creates every plant of a list, and finds all of them there the second time', async () => {
    const first = await run(EXAMPLES, '--rejected', 'rejected');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const { length } = (await readFile(EXAMPLES, 'utf8')).trimEnd().split('\n');
    expect(length).toBeGreaterThanOrEqual(100);
    expect(counts(first.stdout)).toEqual({ created: length, 'already there': 0, conflicting: 0, invalid: 0 });
    // The examples show what the ids are.
    const edges = [-(2n ** 63n), 0n, 2n ** 53n + 1n, 2n ** 63n - 1n];
    expect(await database.query(`select from plants where id in (${edges})`)).toHaveLength(edges.length);

    const second = await run(EXAMPLES, '--rejected', 'rejected');
    expect(counts(second.stdout)).toEqual({ created: 0, 'already there': length, conflicting: 0, invalid: 0 });
    expect(await readdir(folder)).toEqual([]);
  });

  test('keeps what it refuses, with its line and the reason, for this run only', async () => {
    const invalid = Buffer.from('{"id":5,"name":"\xff"}', 'latin1');
    const lines = ['\uFEFF{"id":1,"name":"Rosa"}\r', '', '{"id":1,"name":"Acer"}', '{"id":1.5,"name":"a"}', 'no', '[]'];
    const file = await list('plants.jsonl', Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), invalid]));
    const { code, stdout } = await run(file);
    expect(code).toBe(2);
    expect(counts(stdout)).toEqual({ created: 1, 'already there': 0, conflicting: 1, invalid: 4 });
    expect(stdout).toContain(
      'Refused plants and the reasons are in plants.jsonl.rejected.ndjson. Correct their lines in plants.jsonl, and run the ' +
        'same command again: plants that are stored stay as they are.\n',
    );
    const id = 'id must be an integer from -9223372036854775808 to 9223372036854775807';
    const isObject = 'the line must be an object with an id, a name and an optional tag';
    const [conflicting, ...others] = await rejected('plants.jsonl.rejected.ndjson');
    // Either of the two with one id may come first.
    expect(conflicting).toMatchObject({ outcome: 'conflicting', reason: 'id 1 belongs to a different plant' });
    expect(others).toEqual([
      { line: 4, outcome: 'invalid', reason: id, text: lines[3] },
      { line: 5, outcome: 'invalid', reason: 'the line must be valid JSON', text: 'no' },
      { line: 6, outcome: 'invalid', reason: isObject, text: '[]' },
      { line: 7, outcome: 'invalid', reason: 'the line must be valid UTF-8', text: '{"id":5,"name":"\uFFFD"}' },
    ]);

    await list('plants.jsonl', '{"id":9,"name":"Acer"}');
    expect(await run(file)).toMatchObject({ code: 0 });
    expect(await readdir(folder)).toEqual(['plants.jsonl']);
  });

  test('says which lines of CSV a stray quote has taken with it', async () => {
    await database.query(`insert into plants values (1, 'Rosa')`);
    const file = await list('plants.csv', 'id,name\n2,12" pot\n3,Acer\n4,12" pot\n1,"Rosa\nPeace"\n5,"Ficus\n');
    expect(await run(file)).toMatchObject({ code: 2 });
    const reasons = (await rejected('plants.csv.rejected.ndjson')).map(({ line, reason }) => [line, reason]);
    const joined = (lines: string) => `; lines ${lines} are one record, joined by a quote`;
    expect(reasons).toEqual([
      [2, `quotes must enclose a whole cell, and be doubled within it${joined('2 to 4')}`],
      [5, `id 1 belongs to a different plant${joined('5 to 6')}`],
      [7, 'a quote is never closed'],
    ]);
  });

  test('refuses an empty list in either format, since it is hardly what was meant', async () => {
    for (const [name, content] of Object.entries({ 'a.csv': '', 'b.ndjson': '', 'c.ndjson': '\uFEFF\r\n \n' })) {
      expect(await run(await list(name, content))).toMatchObject({ code: 1, stderr: 'the list is empty\n' });
    }
  });

  test('finishes what is in flight when it is interrupted, and does the rest when it is run again', async () => {
    const importing = start();
    importing.stdin.write('{"id":1,"name":"Rosa"}\n{"id":2,"name":"Acer"}\n{"id":3,"na');
    while ((await database.query('select from plants')).length < 2);
    importing.kill('SIGINT');
    expect(await importing.exited).toEqual({ code: 130, signal: null });
    expect(counts(importing.stdout())).toEqual({ created: 2, 'already there': 0, conflicting: 0, invalid: 0 });
    expect(importing.stderr()).toContain('Run the same command again to import the remaining plants.');

    const file = await list('plants.ndjson', '{"id":1,"name":"Rosa"}\n{"id":2,"name":"Acer"}\n{"id":3,"name":"Ficus"}');
    expect(counts((await run(file)).stdout)).toEqual({ created: 1, 'already there': 2, conflicting: 0, invalid: 0 });
  });

  test('ends at once at a second signal while the database does not respond', async () => {
    await openTransaction(database.directUrl, 'lock table plants');
    const importing = start();
    importing.stdin.write('{"id":1,"name":"Rosa"}\n');
    const waiting = `select from pg_locks where not granted and relation = 'plants'::regclass`;
    while ((await database.query(waiting)).length === 0);
    importing.kill('SIGINT');
    await importing.until(() => importing.stderr().includes('a second signal stops at once'));
    importing.kill('SIGINT');
    // Which a shell reports as 130.
    expect(await importing.exited).toEqual({ code: null, signal: 'SIGINT' });
  });

  test('stops when the database cannot go on, and says why and what to do, though there may be more to read', async () => {
    const importing = start();
    importing.stdin.write('{"id":1,"name":"Rosa"}\n');
    while ((await database.query('select from plants')).length < 1);
    await database.query('drop table plants');
    importing.stdin.write('{"id":2,"name":"Acer"}\n');
    expect(await importing.exited).toEqual({ code: 1, signal: null });
    expect(counts(importing.stdout())).toMatchObject({ created: 1 });
    expect(importing.stderr()).toMatch(
      /^The database failed \(relation "plants" does not exist: .+\)\. Run the same command again to import the remaining plants\.\n$/,
    );
  });

  test('stops before it reads anything while migrations are pending', async () => {
    const { url: DATABASE_URL } = await emptyDatabase();
    expect(await runImport([EXAMPLES, '--rejected', 'rejected'], folder, { DATABASE_URL })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^migrations are pending \(0001_create_plants, .*\): run npm run migrate\n$/),
    });
  });
});

test('goes on after the database was gone for a while', async () => {
  let server = await startPostgresServer(['fsync=off']);
  atEnd(() => server.stop());
  const environment = { DATABASE_URL: server.url };
  await startNode([projectFile('src/migrate.ts')], folder, environment).exited;
  const importing = startImport(['-', '--format', 'ndjson'], folder, environment);
  importing.stdin.write('{"id":1,"name":"Rosa"}\n');
  const count = async () => (await execute(server.url, 'select from plants')).length;
  while ((await count()) < 1);
  server.process.kill('SIGKILL');
  await once(server.process, 'exit');
  importing.stdin.end('{"id":2,"name":"Acer"}\n');
  server = await server.restart();
  expect(await importing.exited).toEqual({ code: 0, signal: null });
  expect(counts(importing.stdout())).toEqual({ created: 2, 'already there': 0, conflicting: 0, invalid: 0 });
  expect(await count()).toBe(2);
}, 120_000);

describe('into the embedded database', () => {
  test('makes it if need be', async () => {
    const { code, stdout } = await run([EXAMPLES, '--rejected', 'rejected']);
    expect([code, counts(stdout).created]).toEqual([0, 148]);
  }, 120_000);

  test('refuses one that a running service holds', async () => {
    atEnd(lockFolder(folder));
    const stderr = `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder\n`;
    expect(await run([EXAMPLES], { DATA_DIR: folder })).toEqual({ code: 1, stdout: '', stderr });
  });
});

test('refuses a file that is not there, and what is none', async () => {
  expect(await run(['plants.csv'])).toMatchObject({
    code: 1,
    stderr: `there is no file plants.csv in ${await realpath(folder)}: correct the path\n`,
  });
  await makePipe(join(folder, 'pipe'));
  for (const path of ['.', 'pipe']) {
    const stderr = `${path} is not a file: name one, or - for standard input\n`;
    expect(await run([path, '--format', 'csv'])).toMatchObject({ code: 1, stderr });
  }
});

test('shows how to use it when it is asked to, and where that is shown when it is used wrongly', async () => {
  const help = await run(['a.csv', 'b.csv', '--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['-h'])).toEqual(help);
  for (const part of ['Usage: npm run import -- FILE', '--format', '--rejected', 'Exit codes', '130', 'Example']) {
    expect(help.stdout).toContain(part);
  }
  const stderr = expect.stringMatching(/^plants\.txt ends with none of .*\nFor help: npm run import -- --help\n$/);
  expect(await run(['plants.txt'])).toEqual({ code: 1, stdout: '', stderr });
});
