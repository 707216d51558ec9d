import { describe, expect, test } from '@jest/globals';
import { MAX_INT64 } from '../../../src/domain/plant.ts';
import { listParts } from '../../../src/wire/lists/parts.js';
import { readList, recordsOf } from '../../support/plants/lists.ts';

const ndjson = { isCsv: false } as const;

/** More unknown members than are noted of a line. */
const MANY = Array.from({ length: 30 }, (_, n) => `"k${n}":1`).join();

describe('of NDJSON', () => {
  test('reads a plant from each line that is not blank, and refuses what POST refuses', async () => {
    const lines = [
      '\uFEFF{"id":1,"name":"Rosa"}\r',
      '',
      '{"id":1.5,"name":"a"}',
      'no',
      '[]',
      '{"id":2}',
      '{"name":"a"}',
      '{"id":"17","name":"a"}',
      '{"id":"P-17","name":"a"}',
      `{"id":6,"name":"a"}`.padEnd(65_537),
    ];
    const body = Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.from('{"id":5,"name":"\xff"}', 'latin1')]);
    const { records } = await readList(body, ndjson);
    const beginning = (text = '') => text.replace(/:.*| from .* to \d+/, '');
    expect(records.map(({ line, id, plant, refusal }) => [line, id, plant ?? beginning(refusal?.message)])).toEqual([
      [1, 1n, { id: 1n, name: 'Rosa' }],
      [3, undefined, 'id must be an integer'],
      [4, undefined, 'the line must be valid JSON'],
      [5, undefined, 'the line must be an object with an id, a name and an optional tag'],
      [6, 2n, 'name is missing'],
      [7, undefined, 'id is missing'],
      [8, undefined, 'id must be an integer, without quotes'],
      [9, undefined, 'id must be an integer'],
      [10, undefined, 'the line must not be larger than 65536 bytes'],
      [11, 5n, 'the line must be valid UTF-8'],
    ]);
    expect(records[8]?.refusal?.code).toBe('record_too_large');
  });

  test.each(['\uFEFF\n[\n{"id":1,"name":"a"}\n]', '[{"id":1,'])(
    'refuses a list that does not begin with an object on one line as a whole: %j',
    async (list) => {
      const message =
        'NDJSON has one object a line, as in {"id":1,"name":"Rosa"}, without brackets around them or commas between them';
      const reading = readList(list, { ...ndjson, more: list.endsWith(',') });
      await expect(reading).rejects.toMatchObject({ code: 'invalid_plant', message: expect.stringContaining(message) });
      const { records } = await readList(list, { ...ndjson, continued: true });
      expect(records.some(({ refusal }) => refusal !== undefined)).toBe(true);
    },
  );

  test('says which members mean nothing, and refuses them in a list that replaces plants', async () => {
    const body = '{"id":1,"name":"a","colour":"red","tags":"x"}\n{"id":2,"name":"b","tags":"y"}\n';
    expect((await readList(body, ndjson)).ignored).toEqual(['colour', 'tags']);
    expect(await recordsOf(body, { ...ndjson, replaces: true })).toEqual([
      [1, '"colour" is unknown: the line may have only id, name, tag'],
      [2, '"tags" is unknown: the line may have only id, name, tag'],
    ]);
  });

  test('says which members of a later line mean nothing, while there is room for their names', async () => {
    const line = (names: readonly string[]) => `{"id":1,"name":"a"${names.map((name) => `,"${name}":1`).join('')}}\n`;
    const known = Array.from({ length: 12 }, (_, n) => `k${n}`);
    const { ignored } = await readList(line(known) + line([...known, 'tags']), ndjson);
    expect(ignored).toEqual([...known, 'tags']);
  });
});

describe('numbered', () => {
  test('its n-th record has the n-th id, refused ones counted', async () => {
    const list = '{"name":"a"}\n{"tag":"x"}\n\n{"name":"b","tag":"y"}\n';
    const { records } = await readList(list, { isCsv: false, idsFrom: MAX_INT64 - 1n });
    expect(records.map(({ id, plant, refusal }) => [id, plant ?? refusal?.message.slice(0, 15)])).toEqual([
      [MAX_INT64 - 1n, { id: MAX_INT64 - 1n, name: 'a' }],
      [MAX_INT64, 'name is missing'],
      [undefined, 'id must be an i'],
    ]);
  });

  test.each([
    ['csv', 'id;name\n1;a\n', 'line 1: there is a column id, but idsFrom is for lists without ids; it must name'],
    ['ndjson', '{"name":"a"}\n{"\\u0069d":1,"name":"a"}\n', 'line 2 has an id: idsFrom is for lists without ids'],
    ['ndjson', `{"name":"a",${MANY},"id":1}\n`, 'line 1 has an id: idsFrom is for lists without ids'],
  ] as const)('it must have no ids: %s', async (format, list, message) => {
    const reading = readList(list, { isCsv: format === 'csv', idsFrom: 1n });
    await expect(reading).rejects.toMatchObject({ code: 'invalid_plant', message: expect.stringContaining(message) });
  });
});

test('of more than 20,000 records, reads the first ones only', async () => {
  const line = (n: number) => `{"id":${n},"name":"a"}\n`;
  const body = Array.from({ length: 20_001 }, (_, n) => line(n)).join('');
  const list = await readList(`${body}\n\n`, { ...ndjson, more: true });
  const first = body.length - line(20_000).length;
  expect([list.records.length, list.consumed]).toEqual([20_000, first]);
  const whole = await readList(`${body.slice(0, first)}\n\n`, ndjson);
  expect([whole.records.length, whole.consumed]).toEqual([20_000, first + 2]);
});

test('a client numbers the next part behind the records of this one, refused ones too', async () => {
  let rest = Uint8Array.from(Buffer.from('a\n\0\nb\n'));
  const source = {
    peek: async (length: number) => ({ bytes: rest.slice(0, length), isEnd: rest.length <= length }),
    skip: (length: number) => {
      rest = rest.slice(length);
    },
  };
  const sent: unknown[] = [];
  const list = { isCsv: true, encoding: 'utf-8', query: { idsFrom: '1', columns: 'name' } } as const;
  const next = listParts(
    source,
    list,
    async ({ idsFrom }, { length }) => {
      sent.push(idsFrom);
      return { created: 1, records: length / 2, refused: [], consumed: length };
    },
    4,
  );
  while (await next());
  expect(sent).toEqual(['1', '3']);
});
