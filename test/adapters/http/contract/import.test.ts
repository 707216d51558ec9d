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
      list: (...range) => (own.list ?? plants.list)(...range),
    },
    bodyLimit: 100_000,
  });
});

/** Creates whatever it is given, once the test lets it go. */
function heldWrites() {
  const held: (() => void)[] = [];
  const addAll: PlantRepository['addAll'] = async (plants) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return plants.map(() => 'created');
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
const head = (url: string, query: string, token = 'x', type = CSV) => rawRequest(url, headOf(query, token, type));

const listOf = (plants: number) => `id,name\n${Array.from({ length: plants }, (_, n) => `${n},a\n`).join('')}`;

const refusal = async (...args: Parameters<typeof send>) => refusalOf(await send(...args));

describe('responds with', () => {
  test('what became of each record, to the letter', async () => {
    stored.set(9_007_199_254_740_993n, { id: 9_007_199_254_740_993n, name: 'there' });
    stored.set(2n, 'deleted');
    const list = 'id;name;colour;tag\r\n1,5;d\r\n1;a;red;\r\n9007199254740993;"b\nc";;\r\n2;c\r\n\r\n1;a\r\n1;b\r\n';
    const invalid = 'id must be a whole number, not \\"1,5\\"';
    expect(await result('', list)).toBe(
      '{"created":1,"changed":0,"unchanged":1,"repeated":1,"refused":[' +
        `{"line":2,"lastLine":2,"unnumbered":true,"error":40022,"message":"${invalid}: write digits only, without a separator"},` +
        '{"line":4,"lastLine":5,"id":9007199254740993,"error":40009,' +
        '"message":"id 9007199254740993 belongs to a different plant"},' +
        '{"line":6,"lastLine":6,"id":2,"error":40010,"message":"id 2 belongs to a deleted plant"},' +
        '{"line":9,"lastLine":9,"id":1,"error":40009,' +
        '"message":"id 1 belongs to a different plant: a line before has this id, too"}],' +
        '"ignored":["colour"],"columns":["id","name","","tag"],"separator":";","header":1,"encoding":"utf-8","records":6,"consumed":80}',
    );
    expect(stored.get(1n)).toEqual({ id: 1n, name: 'a' });
  });

  test('which ids are no whole numbers, and so may get one: not those that a program has changed', async () => {
    const changed = ['007', ' 7', '9.22E+18', '1.234', '-1 234 567', "12'345,678", '7.0', '7,00'];
    changed.push('1.234,00', '1,234.00', '1 234,0', '12,34,567', '1\u2019234', '9.22E18', '1E3', '1'.repeat(32));
    const others = ['P-17', '1,5', '2019.0034', '12.34.56', '7.', ''];
    const list = [...changed, ...others].map((id) => `"${id}",a\n`).join('');
    const { refused } = JSON.parse(await result('', `id,name\n${list}`));
    expect(refused.map(({ unnumbered = false }) => unnumbered)).toEqual([
      ...changed.map(() => false),
      ...others.map(() => true),
    ]);
  });

  test('no columns for NDJSON, and numbers for what is no JSON', async () => {
    expect(await result('', '{"id":1,"name":"a","tags":""}\nno\n', `${NDJSON};charset=UTF-8`)).toBe(
      '{"created":1,"changed":0,"unchanged":0,"repeated":0,"refused":[{"line":2,"lastLine":2,"error":40000,' +
        '"message":"the line must be valid JSON"}],"ignored":["tags"],"encoding":"utf-8","records":2,"consumed":33}',
    );
  });

  test('200 if all are refused, and for a list without records whose columns are named', async () => {
    const counts = async (...list: Parameters<typeof result>) => JSON.parse(await result(...list));
    expect(await counts('', 'id,name\n,a\n')).toMatchObject({ created: 0, refused: [{ line: 2 }], records: 1 });
    // As RFC 7111 and RFC 4180 let Content-Type say.
    const type = 'Text/CSV; charset=UTF-8; header=present';
    expect(await counts('', 'id,name\n', type)).toMatchObject({ created: 0, refused: [], records: 0, consumed: 8 });
    const columns = `?columns=id,name${','.repeat(998)}`;
    expect(await counts(columns, '\uFEFF')).toMatchObject({ refused: [], records: 0 });
  });

  test('a sample, and stores nothing, if it is only to check', async () => {
    stored.set(1n, { id: 1n, name: 'there' });
    const list = `id,name,tag\n0,""\nx,y\n${Array.from({ length: 9 }, (_, n) => `${n + 1},"a",\n`).join('')}`;
    const { refused, sample, ...counts } = JSON.parse(await result('?check=true', list));
    expect(refused).toMatchObject([{ line: 3 }]);
    expect(sample).toEqual([{ id: 0, name: '' }, ...[1, 2, 3, 4].map((id) => ({ id, name: 'a' }))]);
    expect(counts).toMatchObject({ created: 0, changed: 0, unchanged: 0, records: 11, names: ['id', 'name', 'tag'] });
    expect([...stored.keys()]).toEqual([1n]);
  });
});

test('replaces plants that exist, if it is asked to', async () => {
  stored.set(1n, { id: 1n, name: 'there' });
  stored.set(2n, { id: 2n, name: 'same' });
  stored.set(4n, 'deleted');
  const counts = { created: 1, changed: 1, unchanged: 1, refused: [{ id: 4, error: 40010 }] };
  expect(JSON.parse(await result('?existing=replace', 'id,name,tag\n1,a,x\n2,same\n3,c\n4,d\n'))).toMatchObject(counts);
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'a', tag: 'x' });
  expect(stored.get(4n)).toBe('deleted');
});

test('reads a body that continues a list as if more of it came before', async () => {
  const list = '\uFEFFa,1\n\n';
  const columns = '?columns=name,id';
  expect(JSON.parse(await result(columns, list))).toMatchObject({ created: 1 });
  expect(JSON.parse(await result(`${columns}&continued=true`, list))).toMatchObject({ refused: [{ error: 40009 }] });
  expect(JSON.parse(await result('?continued=true', '\n', NDJSON))).toMatchObject({ records: 0, consumed: 1 });
});

test('takes other media types, and the charset that they say', async () => {
  const latin = Buffer.from('id\tname\n1\tb\xe4\n2\t\xc3\xa4\n', 'latin1');
  const list = JSON.parse(await result('', latin, 'text/tab-separated-values; charset=ISO-8859-1'));
  expect(list).toMatchObject({ created: 2, separator: '\t', encoding: 'windows-1252', consumed: latin.length });
  expect(JSON.parse(await result('', '{"id":3,"name":"c","tag":null}\n', 'application/jsonl'))).toMatchObject({
    created: 1,
  });
  expect(JSON.parse(await result('', 'id,name\n4,ä\n', `${CSV};charset=US-ASCII`))).toMatchObject({
    encoding: 'utf-8',
  });
  expect([...stored.values()]).toEqual([
    { id: 1n, name: 'bä' },
    { id: 2n, name: 'Ã¤' },
    { id: 3n, name: 'c' },
    { id: 4n, name: 'ä' },
  ]);
});

describe('of a list without ids that was imported before', () => {
  const LIST = 'name,tag\nRosa,\nSalvia,\n,x\nRosa,y\nFicus,\n';

  test('leaves out plants whose names are stored, and stores the same ones if it is sent again', async () => {
    stored.set(1n, { id: 1n, name: 'Salvia', tag: 'of somebody' });
    const counts = { unchanged: 2, sameName: 1, repeated: 1, compared: true, records: 5 };
    const send = async () => JSON.parse(await result('?idsFrom=7&sameName=skip', LIST));
    expect(await send()).toMatchObject({ created: 2, ...counts, refused: [{ line: 4, id: 9 }] });
    expect([...stored.keys()]).toEqual([1n, 7n, 11n]);
    expect(await send()).toMatchObject({ created: 0, ...counts, unchanged: 4 });
    const checked = JSON.parse(await result('?idsFrom=20&sameName=skip&check=true', LIST));
    expect(checked).toMatchObject({ sameName: 3, created: 0, sample: [] });
  });

  test('stores nothing if there are too many plants to compare their names, and says so when it only checks', async () => {
    own.list = async () => ({ plants: Array(200_000).fill({ id: 1n, name: 'a' }), next: 1n });
    const message = expect.stringContaining('too many plants to compare their names');
    expect(await refusal('?idsFrom=7&sameName=skip', LIST)).toEqual([400, 40022, message]);
    expect(stored.size).toBe(0);
    const checked = JSON.parse(await result('?idsFrom=7&sameName=skip&check=true', LIST));
    expect(checked).toMatchObject({ compared: false, sameName: 0 });
  });
});

describe('refuses', () => {
  test.each<[string, string, string, number, string]>([
    ['?exsting=keep', '', CSV, 40022, '"exsting" is unknown: the query may have only existing, idsFrom, sameName, '],
    ['?existing=', '', CSV, 40022, 'existing must be keep or replace'],
    ['?idsFrom=01', '', CSV, 40022, 'idsFrom must be an integer from'],
    ['?columns=id,name,id', '', CSV, 40022, 'columns must be id, name and tag, each at most once, or nothing'],
    [`?columns=id,name${','.repeat(999)}`, '', CSV, 40022, 'separated by commas, at most 1000 of them'],
    ['', 'id,name\n', `${CSV};charset=koi8-r`, 40015, ' in utf-8 or utf-16le or utf-16be or windows-1252, '],
    ['', '', 'application/json', 40015, 'must be application/x-ndjson or application/jsonl or text/csv or text/tab'],
    ['', '--x', 'multipart/form-data; boundary=x', 40015, "-H 'Content-Type: text/csv' --data-binary @plants.csv"],
    ['', '', CSV, 40000, 'a body is required'],
    ['', `id,name\n${'1,a\n'.repeat(20_001)}`, CSV, 40013, 'the list must not have more than 20000 records'],
    ['?more=true', 'x'.repeat(100_001), CSV, 40013, 'the body must not be larger than 100000 bytes'],
  ])('the query %j', async (query, body, type, error, message) => {
    expect(await refusal(query, body, type)).toEqual([400, error, expect.stringContaining(message)]);
    expect(stored.size).toBe(0);
  });

  const NUMBERED =
    'idsFrom must be left out with existing=replace: numbers that a list is given could be those of any other plants';

  test.each<[string, string, string]>([
    ['?columns=name', CSV, 'there is no column id'],
    ['?columns=id,name&idsFrom=1', CSV, 'there is a column id, but idsFrom is for lists without ids'],
    ['?columns=id,name&existing=replace', CSV, 'existing=replace would delete tags, since there is no column tag'],
    ['?idsFrom=1&existing=replace', NDJSON, NUMBERED],
    ['?sameName=skip', CSV, 'sameName must be left out without idsFrom: plants that have ids are known by these'],
    ['?header=1', NDJSON, 'columns, separator and header are for CSV only'],
    [
      '?separator=;',
      'text/tab-separated-values',
      'separator must be a tab, or left out, with text/tab-separated-values',
    ],
    ['?encoding=utf-16le', `${CSV};charset=latin1`, 'encoding must be left out, or windows-1252, as Content-Type says'],
  ])('the query %j of %s before its body has come', async (query, type, message) => {
    expect(await head(server.url, query, TOKEN, type)).toContain(`{"error":40022,"message":"${message}"}`);
  });
});

describe('a token', () => {
  const limited = (...permissions: ('read' | 'create' | 'change')[]) =>
    startApiServer({ verifyToken: () => ({ permissions: new Set(permissions) }) });

  test('that may only read is refused before the body is read', async () => {
    expect(await head((await limited('read')).url, '?existing=nonsense')).toMatch(/^HTTP\/1.1 403 /);
  });

  test('that may create may not replace, which is refused after the query and before the body', async () => {
    const { url } = await limited('read', 'create');
    expect(await head(url, '?existing=replace')).toMatch(/^HTTP\/1.1 403 /);
    expect(await head(url, '?existing=replace&more=maybe')).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(await result('?existing=keep', 'id,name\n1,a\n', CSV, { url }))).toMatchObject({ created: 1 });
    const all = await limited('create', 'change');
    expect(JSON.parse(await result('?existing=replace', 'id,name,tag\n', CSV, all))).toMatchObject({ records: 0 });
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
