import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { PlantRepository } from '../../../../src/application/ports.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { type ApiServer, CLOSE, post, refusalOf, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { rawRequest } from '../../../support/raw-request.ts';

/* POST /import on a store in memory: its response, its query, its limits and who may use it. */

const stored = new Map<bigint, NewPlant | 'deleted'>();
let own: Partial<PlantRepository> = {};

const server = forEachTest(() => {
  stored.clear();
  own = {};
  const { addAll, ...plants } = fakePlants(stored);
  return startApiServer({
    plants: {
      ...plants,
      addAll: (...list) => (own.addAll ?? addAll)(...list),
    },
    bodyLimit: 100_000,
  });
});

/** Creates whatever it is given, once the test lets it go. */
function heldWrites() {
  const held: (() => void)[] = [];
  const addAll: PlantRepository['addAll'] = async (plants) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return plants.map(() => undefined);
  };
  return { held, addAll };
}
const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';

function send(
  query: string,
  body: BodyInit,
  type: string = CSV,
  { url }: Pick<ApiServer, 'url'> = server,
  token = TOKEN,
) {
  const headers = { ...CLOSE, Authorization: `Bearer ${token}`, 'Content-Type': type };
  return fetch(`${url}/import${query}`, { method: 'POST', headers, body });
}

/** The result of an import that succeeds. */
async function result(...args: Parameters<typeof send>) {
  const response = await send(...args);
  const body = await response.text();
  expect([response.status, body]).toEqual([200, body]);
  return body;
}

function headOf(query: string, token: string, type: string, length = 9): string {
  const lines = [`Authorization: Bearer ${token}`, `Content-Type: ${type}`, `Content-Length: ${length}`, 'Host: x'];
  return `POST /import${query} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
}

/** Sends only the head of a request with a body, which never comes. */
const head = (url: string, query: string, token = TOKEN, type = CSV) => rawRequest(url, headOf(query, token, type));

const listOf = (plants: number) => `id,name\n${Array.from({ length: plants }, (_, n) => `${n},a\n`).join('')}`;

const refusal = async (...args: Parameters<typeof send>) => refusalOf(await send(...args));

const counts = async (...list: Parameters<typeof result>) => JSON.parse(await result(...list));

describe('responds with', () => {
  test('what became of each record, to the letter', async () => {
    stored.set(9_007_199_254_740_993n, { id: 9_007_199_254_740_993n, name: 'there' });
    stored.set(2n, 'deleted');
    const list =
      'id;name;colour;tag\r\n01;d;;\r\n1;a;red;\r\n9007199254740993;"b\nc";;\r\n2;c;;\r\n\r\n1;a;;\r\n1;b;;\r\n';
    const rule = 'in decimal digits, without leading zeros or a plus sign, not \\"01\\"';
    expect(await result('', list)).toBe(
      '{"created":1,"changed":0,"unchanged":1,"refused":[' +
        '{"line":2,"error":40022,"message":"id must be an integer from -9223372036854775808 to 9223372036854775807 ' +
        `${rule}"},{"line":4,"id":9007199254740993,"error":40009,` +
        '"message":"id 9007199254740993 belongs to a different plant"},' +
        '{"line":6,"id":2,"error":40010,"message":"id 2 belongs to a deleted plant"},' +
        '{"line":9,"id":1,"error":40009,"message":"id 1 belongs to a different plant"}],' +
        '"ignored":["colour"],"records":6}',
    );
    expect(stored.get(1n)).toEqual({ id: 1n, name: 'a' });
  });

  test('200 if all are refused, for NDJSON and CSV, whose records are as strict as POST', async () => {
    const lines = [
      'no',
      '[]',
      '{"id":2}',
      '{"name":"a"}',
      '{"id":"17","name":"a"}',
      '{"id":6,"name":"a"}'.padEnd(65_537),
    ];
    const json = await counts('', `\uFEFF${lines.join('\n')}\n{"id":5,"name":"a\\u0000"}`, `${NDJSON};charset=UTF-8`);
    const messages = ({ refused }: { refused: { line: number; message: string }[] }) =>
      refused.map(({ line, message }) => [line, message.replace(/:.*| from .* to \d+/, '')]);
    expect(messages(json)).toEqual([
      [1, 'the line must be valid JSON'],
      [2, 'the line must be an object with an id, a name and an optional tag'],
      [3, 'name is missing'],
      [4, 'id is missing'],
      [5, 'id must be an integer, without quotes'],
      [6, 'the record must not be larger than 65536 bytes'],
      [7, 'name must be a string of at most 1000 characters without U+0000 and without lone surrogates'],
    ]);
    const rows = ['1,a', '1,a,b,c', '1,"a"x,', '1,,', ' 1,a,', `1,${'x'.repeat(1_001)},`].join('\r\n');
    const csv = await counts('', `id,name,tag\r\n${rows}\r\n`);
    expect(messages(csv)).toEqual([
      [2, 'there must be 3 cells, as many as columns'],
      [3, 'there must be 3 cells, as many as columns'],
      [4, 'quotes must enclose a whole cell, with those in it doubled'],
      [5, 'name is missing; write two quotes, "", for an empty one'],
      [6, 'id must be an integer in decimal digits, without leading zeros or a plus sign, not " 1"'],
      [7, 'name must be a string of at most 1000 characters without U+0000 and without lone surrogates'],
    ]);
    expect(stored.size).toBe(0);
  });

  test('the plants of CSV in whose cells quotes stand, each with its own number', async () => {
    await counts('?idsFrom=7', 'name,tag\nFicus 6" pot,\nRosa,"a\nb"\nAcer 2",\n');
    expect([...stored.values()]).toMatchObject([{ id: 7n, name: 'Ficus 6" pot' }, { tag: 'a\nb' }, { id: 9n }]);
  });

  test('the first names of what is ignored, and a null tag as none', async () => {
    const list = `{"id":1,"name":"a","tag":null,"tags":""}\n{"id":2,"name":"b","k":0,"tags":1}\n`;
    expect(await counts('', list, NDJSON)).toMatchObject({ created: 2, ignored: ['tags', 'k'] });
    const many = Array.from({ length: 30 }, (_, n) => `c${n}`);
    expect((await counts('', `${many.join('\t')}\tid\tname\n${'\t'.repeat(30)}3\tb\n`)).ignored).toEqual(
      many.slice(0, 20),
    );
    expect([...stored.values()]).toEqual([
      { id: 1n, name: 'a' },
      { id: 2n, name: 'b' },
      { id: 3n, name: 'b' },
    ]);
  });
});

test('replaces plants that exist, if asked to, of several with one id by the last', async () => {
  stored.set(1n, { id: 1n, name: 'there' });
  stored.set(2n, { id: 2n, name: 'same' });
  stored.set(4n, 'deleted');
  const written: string[] = [];
  const { addAll } = fakePlants(stored);
  own.addAll = (list, replaces) => {
    written.push(...list.map(({ id, name }) => `${id} ${name}`));
    return addAll(list, replaces);
  };
  const list = 'id,name,tag\n1,there,\n1,b,\n1,b,\n1,a,x\n2,same,\n3,c,\n3,c,\n4,d,\n';
  const expected = { created: 1, changed: 2, unchanged: 4, refused: [{ id: 4, error: 40010 }] };
  expect(await counts('?existing=replace&check=true', list)).toMatchObject(expected);
  expect(await counts('?existing=replace', list)).toMatchObject(expected);
  expect(written.toSorted()).toEqual(['1 a', '2 same', '3 c', '4 d']);
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'a', tag: 'x' });
  expect(stored.get(4n)).toBe('deleted');
  expect(await counts('', 'id,name\n5,a\n5,b\n5,a\n2,x\n2,same\n')).toMatchObject({
    created: 1,
    unchanged: 2,
    refused: [{ line: 3 }, { line: 5 }],
  });
});

test('only checks, if it is asked to, and shows the first plants that would change', async () => {
  for (let id = 0n; id < 30n; id++) stored.set(id, { id, name: 'there', tag: 'x' });
  const before = [...stored.values()];
  const list = `id,name,tag\n${Array.from({ length: 31 }, (_, n) => `${n},a,\n`).join('')}x,y,\n`;
  const { changes, ...checked } = await counts('?check=true&existing=replace', list);
  expect(checked).toMatchObject({ created: 1, changed: 30, unchanged: 0, refused: [{ line: 33 }], records: 32 });
  expect(changes).toHaveLength(20);
  expect(changes[1]).toEqual({ before: { id: 1, name: 'there', tag: 'x' }, after: { id: 1, name: 'a' } });
  expect(await counts('?check=true', list)).toMatchObject({ created: 1, changed: 0, changes: [] });
  // Only the last plant with an id is written.
  const twice = await counts('?check=true&existing=replace', 'id,name,tag\n1,a,\n1,there,x\n');
  expect(twice).toMatchObject({ changed: 2, changes: [] });
  expect([...stored.values()]).toEqual(before);
});

test('numbers records that have no ids, refused ones counted', async () => {
  const list = '{"name":"a"}\n{"tag":"x"}\n\n{"name":"b","tag":"y"}\n{"name":"c"}\n';
  const { refused, ...others } = await counts('?idsFrom=9223372036854775805', list, NDJSON);
  expect(others).toMatchObject({ created: 2, records: 4 });
  expect(refused.map(({ line, message }: { line: number; message: string }) => [line, message.slice(0, 15)])).toEqual([
    [2, 'name is missing'],
    [5, 'id must be an i'],
  ]);
  expect([...stored.keys()]).toEqual([9_223_372_036_854_775_805n, 9_223_372_036_854_775_807n]);
  expect(await counts('?idsFrom=0', 'name\n" "\n\n\u00A0\n')).toMatchObject({ created: 2, records: 2 });
  for (const [body, type] of [
    ['{"name":"a"}\n{"\\u0069d":1,"name":"a"}\n', NDJSON],
    ['name,id\na,1\n', CSV],
  ] as const)
    expect(await refusal('?idsFrom=1', body, type)).toEqual([
      400,
      40022,
      expect.stringContaining('has an id: idsFrom is'),
    ]);
});

describe('refuses', () => {
  const READ_BY = 'Lists with other columns, separators or encodings are read by npm run import, and by the page at /';
  const names = 'line 1 must name the columns id, name, each once';
  test.each<[string, string | Buffer<ArrayBuffer>, string, number, string]>([
    [
      '?columns=id,name',
      '',
      CSV,
      40022,
      `"columns" is unknown: the query may have only existing, idsFrom, check. ${READ_BY}`,
    ],
    ['?existing=', '', CSV, 40022, 'existing must be keep or replace'],
    ['?idsFrom=01', '', CSV, 40022, 'idsFrom must be an integer from'],
    ['', 'id,name\n', `${CSV};charset=windows-1252`, 40015, ` in utf-8, without a Content-Encoding. ${READ_BY}`],
    ['', '', 'text/tab-separated-values', 40015, 'must be application/x-ndjson or text/csv in utf-8'],
    ['', '', CSV, 40000, 'a body is required'],
    ['', 'id,name\n', CSV, 40000, 'the body must have a record'],
    ['', '\uFEFF\r\n', NDJSON, 40000, 'the body must have a record'],
    ['', 'Nr,name\n1,a\n', CSV, 40022, names],
    ['', 'id,name,id\n1,a,1\n', CSV, 40022, names],
    ['', 'id,name\n1,a\n2,a\rb\n', CSV, 40022, 'line 3: a carriage return must be followed by a line feed'],
    ['', Buffer.from('id,name\n1,\xe4\n', 'latin1'), CSV, 40000, 'the body must be valid UTF-8; the page and'],
    ['', 'id,name\n1,"\n"\n1,"\n', CSV, 40022, 'line 4: a quote is never closed'],
    ['?existing=replace', 'id,name\n1,a\n', CSV, 40022, 'line 1 must name the columns id, name, tag, each once'],
    ['', `id,name\n${'1,a\n'.repeat(20_001)}`, CSV, 40013, 'a request must not have more than 20000 records'],
    ['', 'x'.repeat(100_001), CSV, 40013, 'the body must not be larger than 100000 bytes'],
  ])('the query %j with %j', async (query, body, type, error, message) => {
    expect(await refusal(query, body, type)).toEqual([400, error, expect.stringContaining(message)]);
    expect(stored.size).toBe(0);
  });

  test('names of columns that are larger than a record, before they are read', async () => {
    const body = `id,name${','.repeat(65_536)}\n1,a\n`;
    const message = 'line 1 must not be larger than 65536 bytes';
    expect(await refusal('', body, CSV)).toEqual([400, 40013, expect.stringContaining(message)]);
  });

  test('an unknown member of a list that replaces plants', async () => {
    const { refused } = await counts('?existing=replace', '{"id":1,"name":"a","tags":"x"}\n', NDJSON);
    expect(refused).toMatchObject([{ message: '"tags" is unknown: the line may have only id, name, tag' }]);
  });

  test('numbers for a list that replaces plants, before its body has come', async () => {
    const message = 'idsFrom must be left out with existing=replace: its numbers could be those of any other plants';
    expect(await head(server.url, '?idsFrom=1&existing=replace')).toContain(`{"error":40022,"message":"${message}"}`);
  });
});

describe('a token', () => {
  const limited = (...permissions: ('read' | 'create' | 'change')[]) =>
    startApiServer({ verifyToken: () => ({ permissions: new Set(permissions) }) });

  test('that may only read is refused before the body is read', async () => {
    expect(await head((await limited('read')).url, '?existing=nonsense')).toMatch(/^HTTP\/1.1 403 /);
  });

  test('that may create may not replace, which is refused before the body', async () => {
    const { url } = await limited('read', 'create');
    expect(await head(url, '?existing=replace')).toMatch(/^HTTP\/1.1 403 /);
    expect(await head(url, '?existing=replace&check=maybe')).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(await result('?existing=keep', 'id,name\n1,a\n', CSV, { url }))).toMatchObject({ created: 1 });
    expect(await head(url, '?check=true')).not.toMatch(/^HTTP\/1.1 403 /);
    const all = await limited('create', 'change');
    expect(await head(all.url, '?check=true')).toMatch(/^HTTP\/1.1 403 /);
    expect(JSON.parse(await result('?existing=replace', 'id,name,tag\n1,a,\n', CSV, all))).toMatchObject({
      records: 1,
    });
  });
});

describe('at once', () => {
  test('four are served, whatever is still arriving, others get 503, and creates go on', async () => {
    const { held, addAll } = heldWrites();
    own.addAll = addAll;
    const arriving = Array.from({ length: 8 }, () => connectTo(server.url));
    for (const socket of arriving) socket.write(`${headOf('', TOKEN, CSV)}id`);
    const imports = Array.from({ length: 64 }, (_, n) => send('', `id,name\n${n},a\n`));
    const statuses: number[] = [];
    for (const each of imports) void each.then(({ status }) => statuses.push(status));
    while (statuses.length < 60) await new Promise(setImmediate);
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect((await post(server.url, '{"id":1000,"name":"of a create"}')).status).toBe(200);
    // Before its body has come.
    expect(await head(server.url, '', TOKEN)).toMatch(/^HTTP\/1.1 503 /);
    while (statuses.length < 64) {
      for (const go of held.splice(0)) go();
      await new Promise(setImmediate);
    }
    for (const socket of arriving) socket.destroy();
    expect(statuses.toSorted()).toEqual([...Array(4).fill(200), ...Array(60).fill(503)]);
  });

  test('fewer are served if their lists need the memory, at least one, and creates go on', async () => {
    const { held, addAll } = heldWrites();
    const small = await startApiServer({ plants: { ...fakePlants(stored), addAll }, maxRequestBytes: 100_000 });
    const list = `id,name\n1,a\n${'\n'.repeat(50_000)}`;
    const first = send('', list, CSV, small);
    while (held.length === 0) await new Promise(setImmediate);
    expect((await refusal('', list, CSV, small))[0]).toBe(503);
    expect((await post(small.url, `{"id":2,"name":"x"${' '.repeat(60_000)}}`)).status).toBe(200);
    held[0]?.();
    expect((await first).status).toBe(200);
  });
});

test('stores all of a list whose client leaves meanwhile', async () => {
  const { addAll } = fakePlants(stored);
  let isHere = true;
  own.addAll = async (...list) => {
    await eventually(() => !isHere);
    return addAll(...list);
  };
  const socket = connectTo(server.url);
  const list = listOf(1_500);
  socket.end(headOf('', TOKEN, CSV, list.length) + list);
  await text(socket);
  isHere = false;
  await eventually(() => stored.size >= 1_500);
});
