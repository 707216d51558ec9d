import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PlantRepository } from '../../src/application/ports.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { type ApiServer, startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { type CollectorsList, workbooks } from '../support/plants/collectors-lists.ts';
import { counts, runImport, startImport } from '../support/programs/import-process.ts';
import { selfSignedCertificate } from '../support/servers/certificate.ts';
import { startForwardProxy } from '../support/servers/forward-proxy.ts';
import { listening } from '../support/servers/local-server.ts';
import { projectFile, temporaryFolder } from '../support/service-process.ts';

/* npm run import as its own process, as people meet it, and a service on a store in memory. */

const JSON_TYPE = { 'Content-Type': 'application/json' };
const EXAMPLES = projectFile('examples/plants.ndjson');

let folder: string;
let stored: Map<bigint, NewPlant>;
let server: ApiServer;

async function serve(own: Partial<PlantRepository> = {}): Promise<void> {
  server = await startApiServer({ plants: { ...fakePlants(stored), ...own } });
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
/** How it ends if it stores nothing, or not all. */
const refused = (why: string | RegExp) => ({ code: 1, stderr: expect.stringMatching(why) });
const rejected = (name: string) => readFile(join(folder, `${name}.rejected.${name.split('.')[1]}`), 'utf8');
/** An import whose first plants are not added before it is told to go on. */
async function heldImport(file: string) {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { addAll } = fakePlants(stored);
  await serve({
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
  test('says what it took, replaces plants if asked to, and shows which by a check', async () => {
    stored.set(1n, { id: 1n, name: 'there' });
    const file = await list('plants.csv', 'Nr;Pflanze;Familie;Preis\n1;other;;3,50\n2;;;\n');
    const replace = [file, '--replace', '--columns', 'id=Nr,name=Pflanze,tag=Familie'];
    const checked = await run(...replace, '--check');
    expect(counts(checked.stdout)).toMatchObject({ changed: 1, refused: 1 });
    expect(checked.stderr).toBe(
      'The list is in utf-8. Row 1 names the columns: "Nr" is the id, "Pflanze" is the name, "Familie" is the tag, and nothing is "Preis".\n' +
        'row 2: {"id":1,"name":"other"}\nrow 3: name is missing\n1: "there" would become "other"\n',
    );
    expect(stored.get(1n)).toMatchObject({ name: 'there' });
    const { code, stdout } = await run(...replace);
    expect([code, counts(stdout)]).toEqual([2, { created: 0, changed: 1, unchanged: 0, refused: 1 }]);
    expect(stored.get(1n)).toEqual({ id: 1n, name: 'other' });
  });

  test('shows the first ten that are refused, and keeps all of them to be corrected', async () => {
    stored.set(9n, { id: 9n, name: 'Rosa  canina ', tag: 'x' });
    const file = await list(
      'plants.csv',
      '\uFEFFid;name;colour\r\n1;a;\r\n1;"b\n""c""";red\r\n1,5;d\r\n2;e\r\n9;Rosa canina;',
    );
    const { code, stdout, stderr } = await run(file);
    expect([code, counts(stdout)]).toEqual([2, { created: 2, changed: 0, unchanged: 0, refused: 3 }]);
    expect(stderr).toMatch(
      /\nrow 3: id 1 belongs to a different plant, "a"\nrow 4: id must be a whole number, not "1,5"\n/,
    );
    expect(stderr).toContain(
      'row 6: id 9 belongs to a different plant, "Rosa  canina " ("x"), whose name differs only in spaces\n',
    );
    expect(stdout).toMatch(
      /Refused records are in .*plants\.csv\.rejected\.csv\. Correct them, and import that file\.\n/,
    );
    expect(await rejected(file)).toBe('\uFEFFid;name;colour\r\n1;"b\n""c""";red\r\n1,5;d\r\n9;Rosa canina;\n');

    const corrected = (await rejected(file)).replace('\n1;', '\n3;').replace('1,5', '4').replace('\n9;', '\n5;');
    expect(await run(await list('corrected.csv', corrected))).toMatchObject({ code: 0 });
    expect(stored.get(3n)).toEqual({ id: 3n, name: 'b\n"c"' });

    const many = await run(await list('many.csv', `id,name\n${'x,a\n'.repeat(50)}`));
    expect(many.stderr.match(/id must be a whole number/g)).toHaveLength(10);
  });

  test('keeps what is refused in its own file, over no corrections and through no link', async () => {
    const file = await list('plants.csv', 'id,name\nx,\n');
    const wrong = await runImport([EXAMPLES], folder, { ...environment(), PLANT_STORE_TOKEN: 'wrong' });
    expect(wrong).toMatchObject(refused(/\nthe access token is not accepted: /));
    await list('precious', 'kept');
    await symlink('precious', join(folder, `${file}.rejected.csv`));
    await list(`${file}.rejected.2.csv`, 'corrected');
    expect((await run(file, '--check')).stdout).not.toContain('rejected');
    expect((await run(file)).stdout).toContain(`${file}.rejected.3.csv`);
    expect(await readFile(join(folder, `${file}.rejected.3.csv`), 'utf8')).toBe('\uFEFFid,name\nx,\n');
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('kept');
    expect(await readFile(join(folder, `${file}.rejected.2.csv`), 'utf8')).toBe('corrected');
  });

  test('numbers its plants, refused ones too, and keeps these without their numbers', async () => {
    const file = await list('plants.csv', `\uFEFFname;tag\n${';x\n'.repeat(2_050)}a;b\n`);
    expect(counts((await run(file, '--ids-from', '9007199254740993')).stdout)).toMatchObject({
      created: 1,
      refused: 2_050,
    });
    expect(stored.get(9_007_199_254_743_043n)).toMatchObject({ name: 'a' });
    expect(await rejected(file)).toBe(`\uFEFFname;tag\n${';x\n'.repeat(2_050)}`);
    const lines = await list('plants.ndjson', '\uFEFF{"tag":"x"}\nno\n{"name":"b"}');
    expect(counts((await run(lines, '--ids-from=-5')).stdout)).toMatchObject({ created: 1, refused: 2 });
    expect(stored.get(-3n)).toMatchObject({ name: 'b' });
    expect(await rejected(lines)).toBe('{"tag":"x"}\nno\n');
  });

  test('without ids, leaves out stored names, unless it is told to add them', async () => {
    stored.set(1n, { id: 1n, name: ' Rosa  canina' });
    const file = await list('plants.csv', 'name\nRosa canina\nFicus\nFicus \n');
    const { stdout } = await run(file, '--ids-from', '7');
    expect(counts(stdout)).toEqual({ created: 1, changed: 0, unchanged: 2, refused: 0 });
    expect(stdout).toContain('Left out, since their names are stored: 2 (--same-name add)');
    expect(stored.get(8n)).toEqual({ id: 8n, name: 'Ficus' });
    expect(counts((await run(file, '--ids-from', '17', '--same-name', 'add')).stdout)).toMatchObject({ created: 3 });
  });

  test('that is not certain of something names the option that helps, also with --yes', async () => {
    const latin = await list('latin.csv', Buffer.from('Nr;Pflanze\r\n1;gr\xfcn\x1b[2J\r\n', 'latin1'));
    expect(await run(latin, '--yes')).toMatchObject(
      refused(/^the list is not in utf-8.*\nwindows-1252: 1;grün\\u001b\[2J\n.*\nGive it as --encoding NAME.\n$/s),
    );
    expect(counts((await run(latin, '--encoding', 'windows-1252')).stdout)).toMatchObject({ created: 1 });
    const order = await list('order.csv', 'Number,Plant\n3,Rosa\n');
    expect(await run(order, '--yes')).toMatchObject(refused(/^Is Number the id\?.*\n.*--columns id=Nr,/));
    const book = await list('book.xlsx', (workbooks[1] as CollectorsList).list);
    expect((await run(book, '--yes')).stderr).toMatch(/^Which sheet: .*\nGive it as --sheet NAME.\n$/);
    expect(stored.size).toBe(1);
    expect(counts((await run(book, '--sheet', '目録')).stdout)).toMatchObject({ created: 2 });
  });

  test('shows nothing of a list or of a server that controls a terminal', async () => {
    stored.set(1n, { id: 1n, name: '\x9b2J' });
    const names = 'id,name,tag,"\x1b]0;x\x07","a\x9bb"\n';
    const shown = await run(await list('plants.csv', `${names}1,"\x1b[2J",,,\nx\x9b,a,,,\n`), '--yes');
    const other = createServer((_request, response) =>
      response.writeHead(400, JSON_TYPE).end('{"error":40022,"message":"no\x1b]0;x\x9b"}'),
    );
    expect(shown.stderr + shown.stdout).toMatch(/\\u001b\]0;x\\u0007.*\\u009b2J.*x\\u009b/s);
    const refused = await runImport([EXAMPLES], folder, environment(`http://127.0.0.1:${await listening(other)}`));
    const said = [shown.stderr, shown.stdout, refused.stderr].join('').replaceAll('\n', '');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for.
    expect(said).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });

  test('that is empty, or cannot be read as a whole, says so', async () => {
    for (const [name, content] of Object.entries({ 'a.csv': '', 'c.ndjson': '\uFEFF\r\n \n' })) {
      expect(await run(await list(name, content))).toMatchObject({ code: 1, stderr: 'the list is empty\n' });
    }
    expect(counts((await run(await list('d.csv', 'id,name'))).stdout)).toMatchObject({ created: 0, refused: 0 });
    const open = await list('e.csv', `id,name\n${'1,"\n"\n'.repeat(50)}2,"\n`);
    expect(await run(open)).toMatchObject(refused(/\nrow 52: a quote is never closed\n/));
  });
});

test('sends a request again after 503, after half an error and after a lost connection', async () => {
  const responses: [number, string][] = [
    [503, 'busy'],
    [502, '{"error":502'],
    [1, ''],
  ];
  const proxy = createServer((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk) => body.push(chunk));
    request.on('end', async () => {
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
  const file = await list('plants.csv', `id,name\n${Array.from({ length: 1_001 }, (_, n) => `${n},a\n`).join('')}`);
  const { code, stdout, stderr } = await runImport([file], folder, environment(`${url}/`));
  expect([code, counts(stdout).created]).toEqual([0, 1_001]);
  expect(stderr.match(/cannot be used now \(503 busy\): trying again for a minute/g)).toHaveLength(1);
});

test('asks on a terminal, once it has shown what would become of the list', async () => {
  const file = await list('plants.csv', 'id,name\n1,Rosa\n2,Ficus\n');
  const answer = async (keys: string, ...args: string[]) => {
    const script = `import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)`;
    const command = ['-c', script, process.execPath, projectFile('src/import.ts'), file, ...args];
    const terminal = spawn('python3', command, { cwd: folder, env: { ...process.env, ...environment() } });
    const exited = once(terminal, 'exit').then(([code]) => code);
    terminal.stdin.write(keys);
    const said = await text(terminal.stdout);
    return [await exited, said.replaceAll('\r', '')] as const;
  };
  const [refused, shown] = await answer('n\n');
  expect(shown).toMatch(
    /Row 1 names.*row 2: \{"id":1,"name":"Rosa"\}.*created +2\n.*Store these\? \[y\/N\] .*Nothing is stored\./s,
  );
  expect([refused, stored.size]).toEqual([1, 0]);
  expect([(await answer('y\n'))[0], stored.size]).toEqual([0, 2]);
  expect((await answer('', '--yes'))[1]).not.toContain('Store these?');
});

test('interrupted, finishes the part that was sent, and does the rest when run again', async () => {
  const file = await list('plants.csv', `id,name\n${Array.from({ length: 3_000 }, (_, n) => `${n},a\n`).join('')}`);
  const { importing, goOn } = await heldImport(file);
  importing.kill('SIGINT');
  await importing.until(() => importing.stderr().includes('a second signal stops at once'));
  goOn();
  expect(await importing.exited).toEqual({ code: 130, signal: null });
  const { created = 0 } = counts(importing.stdout());
  expect(created).toBe(stored.size);
  expect(created).toBe(1_000);
  expect(importing.stderr()).toContain('Run the same command again to import the remaining plants.');
  expect(counts((await run(file)).stdout)).toMatchObject({ created: 2_000, unchanged: created });
});

test.each([
  ['grows', (file: string, content: string) => appendFile(file, content)],
  ['becomes shorter', (file: string) => truncate(file, 3_500_300)],
])('stores no half of a record of a list that %s meanwhile, and says what happened', async (_, change) => {
  const name = 'a'.repeat(1_000);
  const content = `name,id\n${Array.from({ length: 4_000 }, (_, n) => `${name},${n + 100_000}\n`).join('')}`;
  const file = await list('plants.csv', content.slice(0, -3));
  const { importing, goOn } = await heldImport(file);
  await change(join(folder, file), content.slice(-3));
  goOn();
  const outcome = await importing.outcome();
  expect(outcome).toMatchObject(refused(/^plants.csv has changed since it was read/m));
  expect(counts(outcome.stdout).created).toBe(stored.size);
  for (const [id, plant] of stored) expect([plant, id >= 100_000n]).toEqual([{ id, name }, true]);
});

test('reads standard input, and can be interrupted while it waits for that', async () => {
  const importing = startImport(['-'], folder, environment());
  importing.stdin.end('{"id":1,"name":"Rosa"}\n{"id":2}\n');
  expect(await importing.outcome()).toMatchObject({ code: 2 });
  expect(await readFile(join(folder, 'stdin.rejected.ndjson'), 'utf8')).toBe('{"id":2}\n');
  const waiting = startImport(['-'], folder, environment());
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
    const stderr = expect.stringMatching(/^The list is in utf-8\. It has lines of JSON\.\n/);
    expect(first).toMatchObject({ code: 0, stderr });
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
    [{}, 'no token of this folder may create plants: start the service, or set PLANT_STORE_URL and PLANT_STORE_TOKEN'],
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
    expect(await runImport([EXAMPLES], folder)).toMatchObject(refused(/no token of this folder may create plants/));
  });

  test.each([
    [200, '<h1>Hello</h1>', 'URL is not a Plant Store: it says 200 <h1>Hello</h1>'],
    [301, 'moved', 'URL is not a Plant Store: it says 301 https://plants.example/import'],
    [413, '', 'URL: 413'],
    [501, 'no POST here', 'URL: 501 no POST here'],
  ])('that is something else, which answers %i %s, ends it at once', async (status, text, message) => {
    const headers = status === 301 ? { Location: 'https://plants.example/import' } : {};
    const other = createServer((request, response) =>
      request.resume().on('end', () => response.writeHead(status, headers).end(text)),
    );
    const url = `http://127.0.0.1:${await listening(other)}`;
    const outcome = await runImport([await list('plants.csv', 'id,name\n1,a\n')], folder, environment(url));
    expect(outcome).toMatchObject(refused(`\n${RegExp.escape(message.replace('URL', url))}\n`));
  });
});

test('refuses a missing file, a folder, and a place where it cannot write', async () => {
  expect(await run('plants.csv')).toMatchObject(refused(/no such file or directory, open 'plants.csv'/));
  expect(await run('.')).toMatchObject(refused(/EISDIR/));
  // The name of the file for what is refused is longer than 255 octets.
  const file = await list(`${'p'.repeat(245)}.csv`, 'id,name\n1,a\nä,\n');
  const outcome = await run(file);
  expect([outcome.code, counts(outcome.stdout)]).toEqual([1, { created: 1, changed: 0, unchanged: 0, refused: 1 }]);
  expect(outcome.stdout).not.toContain('Refused records are in');
  expect(outcome.stderr).toMatch(
    /\nThese refused records cannot be written \(ENAMETOOLONG: .*\):\n\uFEFFid,name\nä,\n/,
  );
});

test('finds a list, and puts the refused ones, in the folder that npm was called in', async () => {
  await list('plants.csv', 'id,name\n1,\n');
  const npm = { npm_lifecycle_event: 'import', INIT_CWD: folder };
  const elsewhere = await temporaryFolder();
  expect(await runImport(['plants.csv'], elsewhere, { ...environment(), ...npm })).toMatchObject({ code: 2 });
  expect([await rejected('plants.csv'), await readdir(elsewhere)]).toEqual(['\uFEFFid,name\n1,\n', []]);
});

test.each([
  [[], 'name one list: a file, or - for standard input'],
  [['a.csv', '--same-name', 'skip'], '--same-name is for lists with --ids-from'],
  [['a.csv', '--ids-from', '01'], '--ids-from must be an integer from'],
  [['a.csv', '--ids-from', '1', '--replace'], '--replace is for lists with ids'],
  [['a.csv', '--loud'], "Unknown option '--loud'"],
])('refuses %j, and says why', async (args, why) => {
  const stderr = `${RegExp.escape(why)}[^]*\\nFor help: npm run import -- --help\\n$`;
  expect(await run(...args)).toMatchObject({ ...refused(stderr), stdout: '' });
});

test('a list of more than 100 MiB is refused, with what to do', async () => {
  await writeFile(join(folder, 'plants.csv'), 'id,name\n');
  await truncate(join(folder, 'plants.csv'), 101 * 1024 ** 2);
  expect(await run('plants.csv')).toMatchObject({ code: 1, stderr: 'a list has at most 100 MiB: split it\n' });
});

test('of a service whose certificate nobody trusts, says at once what trusts it', async () => {
  const { certificate, key } = selfSignedCertificate('localhost');
  const imported = '{"created":1,"changed":0,"unchanged":0,"refused":[],"ignored":[],"records":1}';
  const secure = createSecureServer({ cert: certificate, key }, (request, response) =>
    request.resume().on('end', () => response.writeHead(200, JSON_TYPE).end(imported)),
  );
  const url = `https://localhost:${await listening(secure)}`;
  const file = await list('plants.csv', 'id,name\n1,a\n');
  const untrusted = await runImport([file], folder, environment(url));
  expect(untrusted).toMatchObject(refused(/its certificate is not trusted \(.*\)\. Set NODE_EXTRA_CA_CERTS to/));
  await list('ca.pem', certificate);
  const trusting = { ...environment(url), NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  expect(await runImport([file], folder, trusting)).toMatchObject({ code: 0 });

  // Through a proxy, by the variables of the service.
  const proxy = await startForwardProxy();
  const proxied = { ...trusting, HTTPS_PROXY: proxy.url };
  expect(await runImport([file], folder, proxied)).toMatchObject({ code: 0 });
  expect(proxy.asked).toEqual([new URL(url).host]);
  expect(await runImport([file], folder, { ...proxied, NO_PROXY: 'localhost' })).toMatchObject({ code: 0 });
  expect(proxy.asked).toHaveLength(1);
});
