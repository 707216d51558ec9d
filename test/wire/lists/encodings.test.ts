import { expect, test } from '@jest/globals';
import { type Encoding, encodingOf } from '../../../src/wire/lists/encoding-finder.js';
import { utf8Of } from '../../../src/wire/lists/parts.js';
import { collectorsLists, inWords } from '../../support/plants/collectors-lists.ts';
import { readList, recordsOf } from '../../support/plants/lists.ts';

const NAMELESS = 'name must be a string of at most 1000 characters without U+0000';
const NO_TEXT = 'the line must be valid UTF-8';
const latin = (text: string) => Buffer.from(text, 'latin1');

/** With records that would be taken for something else at the beginning of a list. */
const LISTS = [
  ...collectorsLists,
  {
    name: 'CSV that seems to begin again',
    list: latin(
      '\xef\xbb\xbfName;id;tag\r\n"a\r\nb";1;\r\n\r\n;;\r\n"c""\n";2;"\xc3\xa4"\r\n\xef\xbb\xbfd;3;"\n\n"\r\nx\0y\0;5\r\n\xff\xfe',
    ),
    plants: ['1 a\r\nb', '2 c"\n ä', '3 \uFEFFd \n\n'],
    refused: [[11, NAMELESS] as const, [12, NO_TEXT] as const],
  },
  {
    name: 'lines of JSON that seem to begin again',
    list: latin(
      '\xef\xbb\xbf{"id":1,"name":"\xc3\xa4"}\r\n\r\n\xef\xbb\xbf{"id":4,"name":"b"}\nx\0y\0\n{"id":3,"name":"c"}\n\n\xff\xfe',
    ),
    query: { json: 'true' },
    plants: ['1 ä', '4 b', '3 c'],
    refused: [4, 7].map((line) => [line, 'the line must be valid'] as const),
  },
];

/** The options that a query says. */
const optionsOf = ({ columns, header, json }: Readonly<Record<string, string>> = {}) => ({
  isCsv: json === undefined,
  ...(columns && { columns: columns.split(',') as ('id' | 'name' | 'tag')[] }),
  ...(header && { header: Number(header) }),
});

/** Reads a list in two parts as clients do, which know its encoding. */
async function inParts(list: Buffer, cut: number, encoding: Encoding, query?: Readonly<Record<string, string>>) {
  const options = { encoding, ...optionsOf(query) };
  const first = await readList(list.subarray(0, cut), { ...options, more: true });
  if (first.consumed === 0) return (await readList(list, options)).records;
  const before = Buffer.from(utf8Of(Uint8Array.from(list.subarray(0, first.consumed)), encoding));
  const linesBefore = before.toString().split('\n').length - 1;
  const others = { ...options, continued: true, ...first.layout, header: undefined };
  const { records } = await readList(list.subarray(first.consumed), others);
  const moved = records.map(({ line, lastLine, ...record }) => ({
    ...record,
    line: line + linesBefore,
    lastLine: lastLine + linesBefore,
  }));
  return [...first.records, ...moved];
}

test.each(LISTS)(
  'reads the plants and refuses the others, the same at whichever octet a part ends: $name',
  async ({ list, query, plants, refused = [], problem }) => {
    const reading = readList(list, optionsOf(query));
    if (problem !== undefined) return expect(reading).rejects.toThrow(problem);
    const { records, consumed } = await reading;
    expect(records.flatMap(({ plant }) => (plant ? [inWords(plant)] : []))).toEqual(plants);
    const reasons = records.flatMap(({ line, refusal }) => (refusal ? [[line, refusal.message]] : []));
    expect(reasons).toEqual(refused.map(([line, why]) => [line, expect.stringContaining(why)]));
    expect(consumed).toBe(list.length);
    const encoding = await encodingOf([list]);
    for (let cut = 0; cut <= list.length; cut++) expect(await inParts(list, cut, encoding, query)).toEqual(records);
  },
);

test('says the encoding, which a client finds by the same rule, in whichever chunks the list comes', async () => {
  for (const { list, query, problem } of collectorsLists) {
    const each = [...list].map((octet) => Uint8Array.of(octet));
    const found = await encodingOf(list.length > 3 ? [list.subarray(0, 4), ...each.slice(4)] : [list]).catch(String);
    if (problem === undefined) expect((await readList(list, optionsOf(query))).encoding).toBe(found);
  }
});

test.each<[what: string, list: Buffer, encoding: Encoding]>([
  ['without characters outside ASCII', latin('id,name\n'), 'utf-8'],
  ['with an overlong form', latin('id,name\n1,\xc0\xaf\n'), 'windows-1252'],
  ['beyond Unicode', latin('id,name\n1,\xf4\x90\x80\x80\n'), 'windows-1252'],
  ['that ends in a character that is not complete', latin('id,name\n1,\xe2\x82'), 'windows-1252'],
])('takes a list %s for %s', async (_what, list, encoding) => {
  expect(await readList(list)).toMatchObject({ encoding });
  expect(await encodingOf([list])).toBe(encoding);
});

test.each<[message: string, list: Buffer, options: Parameters<typeof readList>[1]]>([
  ['begins with the byte order mark of utf-16le, and not of utf-8', latin('\xff\xfei\0'), { encoding: 'utf-8' }],
  ['NDJSON must be in utf-8, not in utf-16le', latin('\xff\xfe{\0'), { isCsv: false }],
  ['line 1: a character of utf-16be is cut in half', latin('\xfe\xff\0i\0'), {}],
  ['line 1: the list is in UTF-16, without a byte order mark', Buffer.from('id,name\n', 'utf16le'), {}],
])('refuses a list as a whole: %s', async (message, list, options) => {
  await expect(readList(list, options)).rejects.toMatchObject({
    code: 'invalid_plant',
    message: expect.stringContaining(message),
  });
});

test('of a list whose encoding is said, refuses only the lines that are invalid', async () => {
  expect(await recordsOf(latin('id,name\n1,\xe4\n2,\xc3\xa4\n'), { encoding: 'utf-8' })).toEqual([
    [2, 'the line must be valid UTF-8; in Excel, save the list as "CSV UTF-8"'],
    [3, { id: 2n, name: 'ä' }],
  ]);
});
