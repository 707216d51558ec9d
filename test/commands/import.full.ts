import { appendFile, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PlantRepository } from '../../src/application/ports.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { type ApiServer, startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { collectorsLists, inWords } from '../support/plants/collectors-lists.ts';
import { counts, runImport, startImport } from '../support/programs/import-process.ts';
import { makePipe } from '../support/programs/named-pipe.ts';
import { listening } from '../support/servers/local-server.ts';
import { projectFile, temporaryFolder } from '../support/service-process.ts';

/* npm run import as its own process, as people meet it, and a service on a store in memory. */

const EXAMPLES = projectFile('examples/plants.ndjson');

let folder: string;
let stored: Map<bigint, NewPlant>;
let server: ApiServer;

async function serve(bodyLimit = 1024 ** 2, own: Partial<PlantRepository> = {}): Promise<void> {
  server = await startApiServer({ plants: { ...fakePlants(stored), ...own }, bodyLimit });
}

beforeEach(async () => {
  folder = await temporaryFolder();
  stored = new Map();
  await serve();
});

const environment = (url = server.url) => ({ PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN });
const run = (...args: string[]) => runImport(args, folder, environment());

const list = async (name: string, content: string | Buffer) => {
  await writeFile(join(folder, name), content);
  return name;
};
const rejected = (name: string) => readFile(join(folder, `${name}.rejected.${name.split('.')[1]}`), 'utf8');
/** An import whose first plants are not added before it is told to go on. */
async function heldImport(file: string, bodyLimit: number) {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { addAll } = fakePlants(stored);
  await serve(bodyLimit, {
    async addAll(...list) {
      begun.resolve();
      await held.promise;
      return addAll(...list);
    },
  });
  const importing = startImport([file], folder, environment());
  await begun.promise;
  return { importing, goOn: held.resolve };
}

describe('of a list', () => {
  test('replaces plants, or only checks, if it is asked to', async () => {
    stored.set(1n, { id: 1n, name: 'there' });
    const file = await list('plants.csv', 'id,name,tag\n1,other,\n2,,\n');
    expect(counts((await run(file, '--check')).stdout)).toMatchObject({ changed: 0, refused: 1 });
    expect(stored.get(1n)).toMatchObject({ name: 'there' });
    const { code, stdout, stderr } = await run(file, '--replace');
    expect([code, counts(stdout)]).toEqual([2, { created: 0, changed: 1, unchanged: 0, refused: 1 }]);
    expect(stderr).toBe('line 3: name is missing; write "" for an empty name\n');
    expect(stored.get(1n)).toMatchObject({ name: 'other' });
  });

  test('shows what is refused, the first ten, and ignored, and keeps what is refused as it was, to be corrected and imported', async () => {
    const file = await list('plants.csv', '\uFEFFid;name;colour\r\n1;a;\r\n1;"b\n""c""";red\r\n1,5;d\r\n2;e');
    const { code, stdout, stderr } = await run(file);
    expect([code, counts(stdout)]).toEqual([2, { created: 2, changed: 0, unchanged: 0, refused: 2 }]);
    expect(stderr).toMatch(
      /^ignored: colour\nlines 3 to 4: id 1 belongs to a different plant: .*\nline 5: id must be /,
    );
    expect(stdout).toContain('Refused records are in plants.csv.rejected.csv. Correct them, and import that file.\n');
    expect(await rejected(file)).toBe('\uFEFFid;name;colour\r\n1;"b\n""c""";red\r\n1,5;d\r\n');

    const corrected = (await rejected(file)).replace('\n1;', '\n3;').replace('1,5', '4');
    expect(await run(await list('corrected.csv', corrected))).toMatchObject({ code: 0 });
    expect(stored.get(3n)).toEqual({ id: 3n, name: 'b\n"c"' });
    expect((await readdir(folder)).sort()).toEqual(['corrected.csv', 'plants.csv', 'plants.csv.rejected.csv']);

    const many = await run(await list('many.csv', `id,name\n${',a\n'.repeat(50)}`));
    expect(many.stderr.match(/id is missing/g)).toHaveLength(10);
  });

  test('leaves the corrections of what was refused as they are, until something else is refused', async () => {
    const file = await list('plants.csv', 'id,name\n1,\n');
    const corrections = join(folder, `${file}.rejected.csv`);
    await writeFile(corrections, 'corrected');
    const wrong = await runImport([file], folder, { ...environment(), PLANT_STORE_TOKEN: 'wrong' });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/^the access token is not accepted: .*\n$/)]);
    expect((await run(file, '--check')).stdout).not.toContain(corrections);
    await run(await list('good.csv', 'id,name\n2,a\n'));
    expect((await readdir(folder)).sort()).toEqual(['good.csv', file, `${file}.rejected.csv`]);
    expect(await rejected(file)).toBe('corrected');

    expect(await run(file)).toMatchObject({ code: 2 });
    expect(await rejected(file)).toBe('id,name\n1,\n');
    expect(await readFile(`${corrections}.old`, 'utf8')).toBe('corrected');

    await writeFile(corrections, 'corrected again');
    for (const _ of [1, 2]) expect(await run(file)).toMatchObject({ code: 2 });
    const kept = ['.old', '.old.2', '.old.3'].map((name) => readFile(`${corrections}${name}`, 'utf8'));
    expect(await Promise.all(kept)).toEqual(['corrected', 'corrected again', 'id,name\n1,\n']);
  });

  test('keeps what is refused in a file of its own, and follows no link', async () => {
    const file = await list('plants.csv', 'id,name\n1,\n');
    await list('precious', 'kept');
    await symlink('precious', join(folder, `${file}.rejected.csv`));
    await run(file);
    expect(await rejected(file)).toBe('id,name\n1,\n');
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('kept');
  });

  test('numbers its plants, those beyond the first part too, and keeps what is refused as it was, without their numbers', async () => {
    await serve(100);
    const file = await list('plants.csv', `\uFEFFname;tag\n${';x\n'.repeat(50)}a;b\n`);
    expect(counts((await run(file, '--ids-from', '9007199254740993')).stdout)).toMatchObject({
      created: 1,
      refused: 50,
    });
    expect(stored.get(9_007_199_254_741_043n)).toMatchObject({ name: 'a' });
    expect(await rejected(file)).toBe(`\uFEFFname;tag\n${';x\n'.repeat(50)}`);
    const lines = await list('plants.ndjson', '\uFEFF{"tag":"x"}\nno\n{"name":"b"}');
    const { stdout } = await run(lines, '--ids-from=-5');
    expect(counts(stdout)).toMatchObject({ created: 1, refused: 2 });
    expect(stdout).toContain('import that file with --ids-from, from a number on that is free.');
    expect(stored.get(-3n)).toMatchObject({ name: 'b' });
    expect(await rejected(lines)).toBe('{"tag":"x"}\nno\n');
  });

  test('numbers what is refused for its id, if it is asked to, and says its lines', async () => {
    const file = await list(
      'plants.csv',
      'Preise\nkey;title;type\nP-17;Rosa;x\n00012;Ficus;\n7;Salvia;\nP-18;"S\n";\n;;y\n',
    );
    const { code, stdout, stderr } = await run(file, '--number-refused', '41');
    expect([code, counts(stdout)]).toEqual([2, { created: 3, changed: 0, unchanged: 0, refused: 2 }]);
    expect(stderr).toMatch(
      /line 4: id must have no leading zeros.*\nNumbered from 41, since .*: 3\nline 8: name is missing/,
    );
    expect([41n, 42n].map((id) => stored.get(id))).toEqual([
      { id: 41n, name: 'Rosa', tag: 'x' },
      { id: 42n, name: 'S\n' },
    ]);
    expect(await rejected(file)).toBe('key;title;type\n00012;Ficus;\n;;y\n');
    const changed = await list('changed.csv', 'id;name\n 12;Ficus\n9.22E+18;Salvia\n" 012";Rosa\nP-1;Acer\n');
    expect(counts((await run(changed, '--number-refused', '100')).stdout)).toMatchObject({ created: 1, refused: 3 });
    expect(stored.get(100n)).toEqual({ id: 100n, name: 'Acer' });
  });

  test('in another encoding, keeps what is refused in UTF-8, with the names that it has, or with ours', async () => {
    const text = 'Preise\r\nNr;Pflanze;Gattung\r\n1;;gr\xfcn\r\n';
    const file = await list('latin.csv', Buffer.from(text, 'latin1'));
    expect((await run(file)).stderr).toMatch(
      /^line 2 names the columns, so nothing before it is imported: .*\nNr is the id: --columns changes that\nPflanze is the name: .*\nGattung is the tag: /,
    );
    expect(await rejected(file)).toBe('\uFEFFNr;Pflanze;Gattung\r\n1;;grün\r\n');
    await run(file, '--columns', ',name', '--header', '2', '--ids-from', '7');
    expect(await rejected(file)).toBe('\uFEFF;name;\r\n1;;grün\r\n');
    const names = await list('names.csv', '\uFEFFNr;Pflanze\r\nP-1;Rosa\r\n');
    await run(names);
    expect(await rejected(names)).toBe('\uFEFFNr;Pflanze\r\nP-1;Rosa\r\n');
    const nameless = await list('nameless.csv', '\uFEFFRosa,x,y\r\n');
    await run(nameless, '--columns', 'name,tag', '--ids-from', '7');
    expect(await rejected(nameless)).toBe('\uFEFFname,tag\r\nRosa,x,y\r\n');
  });

  test('that is empty, or cannot be read as a whole, says so', async () => {
    for (const [name, content] of Object.entries({ 'a.csv': '', 'c.ndjson': '\uFEFF\r\n \n' })) {
      expect(await run(await list(name, content))).toMatchObject({ code: 1, stderr: 'the list is empty\n' });
    }
    const empty = { code: 0, stderr: 'The list has no records.\n' };
    expect(await run(await list('d.csv', 'id,name'))).toMatchObject(empty);
    await serve(100);
    const open = `id,name\n${'1,"\n"\n'.repeat(50)}2,"\n`;
    expect(await run(await list('e.csv', open))).toMatchObject({
      code: 1,
      stderr: 'line 102: a quote is never closed\n',
    });
  });
});

test('of CSV, ends at a record that is too large for one of its own, naming its line', async () => {
  await serve(100_000);
  const content = `id,name\n1,"\n"\n2,"${'\n'.repeat(1_000_000)}"\n3,c\n`;
  const { code, stderr } = await run(await list('plants.csv', content));
  const line = 'line 4: the record is larger than the service takes: is a quote never closed?\n';
  expect([code, stderr]).toEqual([1, line]);
  // A bisection between half of BODY_LIMIT and BODY_LIMIT.
  expect(server.lines.filter((line) => line.includes('importPlants')).length).toBeLessThan(30);
});

test('shows how to use it when it is asked to', async () => {
  const help = await run('a.csv', 'b.csv', '--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(/^Usage: npm run import -- FILE .*--replace.*--check.*130/s);
});

test('sends a part again after 503, after half an error, after a lost connection, and smaller after 408 and 413', async () => {
  const responses: [number, string][] = [];
  const sizes: number[] = [];
  const proxy = createServer((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk) => body.push(chunk));
    request.on('end', async () => {
      sizes.push(Buffer.concat(body).length);
      const [status, text] = responses.shift() ?? [0, ''];
      if (status === 1) return response.destroy();
      if (status > 0) return response.writeHead(status, { 'Content-Type': 'text/html' }).end(text);
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const headers = { Authorization: authorization, 'Content-Type': type, Connection: 'close' };
      const passed = await fetch(server.url + request.url, { method: 'POST', headers, body: Buffer.concat(body) });
      return response.writeHead(passed.status, { 'Content-Type': 'application/json' }).end(await passed.text());
    });
  });
  const url = `http://127.0.0.1:${await listening(proxy)}`;
  responses.push([503, 'busy'], [502, '{"error":502'], [1, ''], [413, '<h1>too large</h1>'], [408, 'slow']);
  const file = await list(
    'plants.csv',
    `id,name\n${Array.from({ length: 1_000 }, (_, n) => `${n},${'a'.repeat(60)}\n`).join('')}`,
  );
  const { code, stdout, stderr } = await runImport([file], folder, environment(`${url}/`));
  expect([code, counts(stdout).created]).toEqual([0, 1_000]);
  // A slow machine sees the progress, too.
  const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('['));
  expect(said).toEqual([`${url} cannot be used now (503 busy): trying again for a minute`]);
  expect(sizes.slice(0, 6)).toEqual([64_898, 64_898, 64_898, 64_898, 32_449, 16_224]);
});

test('imports every line that the limit has room for, with its line feed', async () => {
  const line = (id: number, length: number) => `{"id":${id},"name":"${'x'.repeat(length - 18)}"}\n`;
  for (const [limit, name] of [
    [300, 'a.ndjson'],
    [1_000, 'b.ndjson'],
  ] as const) {
    stored.clear();
    await serve(limit);
    const lines = [limit / 2, limit - 1, limit, limit / 3, limit].map((length, n) => line(n, Math.floor(length)));
    const { stdout, stderr } = await run(await list(name, lines.join('')));
    expect(counts(stdout)).toMatchObject({ created: 3, refused: 2 });
    expect(stderr).toMatch(/^line 3: the record is larger than the service takes\nline 5: /);
    expect(await rejected(name)).toBe(`${lines[2]}${lines[4]}`);
  }
});

test('takes a record for the same wherever a part begins', async () => {
  await serve(100);
  const names = ['\uFEFFRosa', '\uFEFF', 'a', 'Monstera'];
  const records = Array.from({ length: 200 }, (_, n) => `${names[n % 4]},${n}\n`).join('');
  const csv = `name,id\n${records}\uFEFF`;
  expect(counts((await run(await list('plants.csv', csv))).stdout)).toMatchObject({ created: 200, refused: 1 });
  expect([...stored.values()]).toEqual(Array.from({ length: 200 }, (_, n) => ({ id: BigInt(n), name: names[n % 4] })));
  const lines = Array.from(
    { length: 50 },
    (_, n) => `{"id":${n + 200},"name":"a"}\n\uFEFF{"id":0}\na\0b\0\n\xff\xfe\n`,
  );
  const ndjson = await list(
    'plants.ndjson',
    Buffer.from(lines.join('').replaceAll('\uFEFF', '\xef\xbb\xbf'), 'latin1'),
  );
  expect(counts((await run(ndjson)).stdout)).toMatchObject({ created: 50, refused: 150 });
});

test('finishes the part that was sent when it is interrupted, and does the rest when it is run again', async () => {
  const file = await list('plants.csv', `id,name\n${Array.from({ length: 1_000 }, (_, n) => `${n},a\n`).join('')}`);
  const { importing, goOn } = await heldImport(file, 1_000);
  importing.kill('SIGINT');
  await importing.until(() => importing.stderr().includes('a second signal stops at once'));
  goOn();
  expect(await importing.exited).toEqual({ code: 130, signal: null });
  const { created = 0 } = counts(importing.stdout());
  expect(created).toBe(stored.size);
  expect(created).toBeLessThan(200);
  expect(importing.stderr()).toContain('Run the same command again to import the remaining plants.');
  expect(counts((await run(file)).stdout)).toMatchObject({ created: 1_000 - created, unchanged: created });
});

test.each([
  ['grows', (file: string, content: string) => appendFile(file, content)],
  ['becomes shorter', (file: string) => truncate(file, 3_500_300)],
])('of a list that %s while it is read, stores no half of a record, and says what has happened', async (_, change) => {
  const name = 'a'.repeat(1_000);
  const content = `name,id\n${Array.from({ length: 4_000 }, (_, n) => `${name},${n + 100_000}\n`).join('')}`;
  const file = await list('plants.csv', content.slice(0, -3));
  const { importing, goOn } = await heldImport(file, 1024 ** 2);
  await change(join(folder, file), content.slice(-3));
  goOn();
  const { code, stdout, stderr } = await importing.outcome();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^plants.csv has changed while it was read \(it had /m)]);
  expect(counts(stdout).created).toBe(stored.size);
  for (const [id, plant] of stored) expect([plant, id >= 100_000n]).toEqual([{ id, name }, true]);
});

test('reads standard input, and can be interrupted while it waits for that', async () => {
  const importing = startImport(['-', '--format', 'ndjson'], folder, environment());
  importing.stdin.end('{"id":1,"name":"Rosa"}\n{"id":2}\n');
  expect(await importing.outcome()).toMatchObject({ code: 2 });
  expect(await readFile(join(folder, 'stdin.rejected.ndjson'), 'utf8')).toBe('{"id":2}\n');
  const waiting = startImport(['-', '--format', 'ndjson'], folder, environment());
  // More than a pipe holds, so that it has been read in part, and less than is sent.
  await new Promise((read) => waiting.stdin.write(`{"id":3,"name":"${'x'.repeat(500_000)}"}\n`, read));
  waiting.kill('SIGTERM');
  expect(await waiting.exited).toEqual({ code: 143, signal: null });
});

describe('the service', () => {
  test('is the one of this folder, with its token, if none is named', async () => {
    const { port } = new URL(server.url);
    const own = { HOST: '0.0.0.0', PORT: port, ACCESS_TOKENS: `${TOKEN},another-${TOKEN}` };
    const { length } = (await readFile(EXAMPLES, 'utf8')).trimEnd().split('\n');
    const first = await runImport([EXAMPLES], folder, own);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(counts(first.stdout)).toEqual({ created: length, changed: 0, unchanged: 0, refused: 0 });
    // The examples show what the ids are.
    for (const id of [-(2n ** 63n), 0n, 2n ** 53n + 1n, 2n ** 63n - 1n]) expect(stored.has(id)).toBe(true);
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'data/access-token'), `${TOKEN}\n`);
    await writeFile(join(folder, '.env'), `PORT=${port}\n`);
    expect(counts((await runImport([EXAMPLES], folder)).stdout)).toMatchObject({ created: 0, unchanged: length });
  });

  test.each<[Record<string, string>, string]>([
    [{ PLANT_STORE_URL: 'http://127.0.0.1:1' }, 'set PLANT_STORE_URL and PLANT_STORE_TOKEN, or neither of them'],
    [{}, 'this folder has no token that may create: start the service, or set PLANT_STORE_URL and PLANT_STORE_TOKEN'],
    [{ PORT: '0', ACCESS_TOKENS: TOKEN }, 'PORT is 0, so only the service knows where it listens: set PLANT_STORE_URL'],
    [
      { PLANTSTORE_URL: 'http://127.0.0.1:1', PLANTSTORE_TOKEN: TOKEN },
      'PLANTSTORE_URL is not a variable of Plant Store: did you mean PLANT_STORE_URL?',
    ],
    [
      { PLANT_STORE_URL: 'http://127.0.0.1:1', PLANT_STORE_TOKEN: `${TOKEN}\n${TOKEN}` },
      'PLANT_STORE_TOKEN must be one token, on one line',
    ],
    [
      { PLANT_STORE_URL: 'http://user:password@a' },
      'PLANT_STORE_URL must be an http:// or https:// URL without a user',
    ],
  ])('that %j gives is refused: %s', async (variables, message) => {
    const { code, stderr } = await runImport([EXAMPLES], folder, variables);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr).not.toContain(TOKEN);
  });

  test('of this folder has no token while the file of its token is blank', async () => {
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'data/access-token'), '\n');
    const stderr = expect.stringContaining('this folder has no token that may create');
    expect(await runImport([EXAMPLES], folder)).toMatchObject({ code: 1, stderr });
  });

  test.each([
    [200, '<h1>Hello</h1>', 'URL is not a Plant Store: it says 200 <h1>Hello</h1>'],
    [301, 'moved', 'URL is not a Plant Store: it says 301 https://plants.example/import'],
    [413, '', 'line 1: the service takes no part of the list, however small'],
    [501, 'no POST here', 'URL: 501 no POST here'],
  ])('that is something else, which answers %i %s, ends it at once', async (status, text, message) => {
    const headers = status === 301 ? { Location: 'https://plants.example/import' } : {};
    const other = createServer((request, response) =>
      request.resume().on('end', () => response.writeHead(status, headers).end(text)),
    );
    const url = `http://127.0.0.1:${await listening(other)}`;
    const { code, stderr } = await runImport([await list('plants.csv', 'id,name\n1,a\n')], folder, environment(url));
    expect([code, stderr]).toEqual([1, `${message.replace('URL', url)}\n`]);
  });
});

test('refuses a file that is not there, what is none, and a place where it cannot write', async () => {
  expect(await run('plants.csv')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no such file or directory, stat 'plants.csv'"),
  });
  await makePipe(join(folder, 'pipe'));
  for (const path of ['.', 'pipe']) {
    const stderr = `${path} is not a file: name one, or - for standard input\n`;
    expect(await run(path, '--format', 'csv')).toMatchObject({ code: 1, stderr });
  }
  // The name of the file for what is refused is longer than 255 octets.
  const file = await list(`${'p'.repeat(245)}.csv`, 'id,name\n1,a\nä,\n');
  const { code, stdout, stderr } = await run(file);
  expect([code, counts(stdout)]).toEqual([1, { created: 1, changed: 0, unchanged: 0, refused: 1 }]);
  expect(stdout).not.toContain('Refused records are in');
  expect(stderr).toMatch(/^line 3: .*\nThese refused records cannot be written \(ENAMETOOLONG: .*\):\nid,name\nä,\n/);
});

test('finds a list, and puts what is refused beside it, in the folder that npm was called in', async () => {
  await list('plants.csv', 'id,name\n1,\n');
  const npm = { npm_lifecycle_event: 'import', INIT_CWD: folder };
  const elsewhere = await temporaryFolder();
  expect(await runImport(['plants.csv'], elsewhere, { ...environment(), ...npm })).toMatchObject({ code: 2 });
  expect([await rejected('plants.csv'), await readdir(elsewhere)]).toEqual(['id,name\n1,\n', []]);
});

test.each([
  [[], 'name one list: a file, or - for standard input'],
  [['-'], 'nothing says what - is: add --format csv or --format ndjson'],
  [['a.csv', '--format', 'xml'], '--format must be csv or ndjson'],
  [['a.csv', '--ids-from', '01'], '--ids-from must be an integer from'],
  [['a.csv', '--ids-from', '1', '--replace'], '--replace is for lists with ids'],
  [['a.csv', '--number-refused', 'P-1'], '--number-refused must be an integer from'],
  [['a.csv', '--number-refused', '1', '--ids-from', '1'], '--number-refused is for lists of CSV with ids'],
  [['a.csv', '--loud'], "Unknown option '--loud'"],
])('refuses %j, and says why', async (args, why) => {
  const stderr = expect.stringMatching(/\nFor help: npm run import -- --help\n$/);
  const outcome = await run(...args);
  expect(outcome).toMatchObject({ code: 1, stdout: '', stderr });
  expect(outcome.stderr).toContain(why);
});

test('a line that is longer than the longest string is refused and kept, and the import goes on behind it', async () => {
  const path = join(folder, 'plants.ndjson');
  const size = 560_000_000;
  await writeFile(path, '{"name":"a"}\n');
  // Of U+0000, which takes no room on the disk.
  await truncate(path, size);
  await appendFile(path, '\n{"name":"b"}\n');
  const { code, stdout } = await run('plants.ndjson', '--ids-from', '1');
  expect([code, counts(stdout)]).toEqual([2, { created: 2, changed: 0, unchanged: 0, refused: 1 }]);
  expect((await stat(`${path}.rejected.ndjson`)).size).toBe(size - '{"name":"a"}\n'.length + 1);
});

test('of a collector, reads what others read, and says what is refused', async () => {
  await serve(100);
  for (const { list: content, query = {}, plants, refused = [], problem, name } of collectorsLists) {
    stored.clear();
    const options = Object.entries(query).map(([option, value]) => `--${option}=${value}`);
    const { code, stderr } = await run(await list('list.csv', content), ...options);
    if (problem !== undefined) {
      expect([name, code, stderr]).toEqual([name, 1, expect.stringContaining(problem)]);
      continue;
    }
    expect([name, [...stored.values()].map(inWords), code]).toEqual([name, plants, refused.length > 0 ? 2 : 0]);
    for (const [line, why] of refused) expect(stderr).toMatch(new RegExp(`line ${line}: .*${RegExp.escape(why)}`));
  }
});

test('in another encoding, of which only the last of 50,000 records has a character, knows it for the first part', async () => {
  const records = Array.from({ length: 50_000 }, (_, n) => `${n};Rosa number ${n}\n`);
  const file = await list('long.csv', Buffer.from(`Nr;Pflanze\n${records.join('')}-1;B\xe4renklau`, 'latin1'));
  expect(counts((await run(file)).stdout)).toMatchObject({ created: 50_001, refused: 0 });
  expect(stored.get(-1n)).toEqual({ id: -1n, name: 'Bärenklau' });
});
