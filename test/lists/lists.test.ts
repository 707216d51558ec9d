import { describe, expect, test } from '@jest/globals';
import { interpretList } from '../../src/cli/list-source.ts';
import { batchesOf, outcomeOf } from '../../src/lists/batches.js';
import { detectLayout } from '../../src/lists/columns.js';
import { decodeList, fittingEncodings } from '../../src/lists/encodings.js';
import { plantIn, recordsOf } from '../../src/lists/records.js';
import {
  type CollectorsList,
  collectorsLists,
  inWords,
  officeLists,
  workbooks,
} from '../support/plants/collectors-lists.ts';

/* The reader of people's lists, which the command and the page share. */

type Said = NonNullable<CollectorsList['said']>;

function read(list: Uint8Array, said: Said = {}) {
  const { encoding, columns, 'ids-from': from } = said;
  const idsFrom = from === undefined ? undefined : BigInt(from);
  const { text } = decodeList(list, encoding);
  if (text.startsWith('{')) return [...recordsOf(text, undefined, idsFrom)];
  const layout = detectLayout(text, { columns, isNumbered: from !== undefined });
  if (layout.doubt) throw layout.doubt;
  return [...recordsOf(text, layout, idsFrom)];
}

const readText = (text: string, said?: Said) => read(Buffer.from(text), said);
const words = (records: ReturnType<typeof read>) =>
  records.map((record) => plantIn(record).map(inWords)[0] ?? `${record.row}: ${record.problem}`);

/** The options that a list asks for, one after another, until it is read with what was said. */
function asked(list: Buffer, said: Said, known: Said = {}): unknown[] {
  try {
    read(list, known);
    return [];
  } catch (error) {
    const { cause: option } = error as { cause?: string };
    if (option === undefined) return [];
    // A list that asks whether a column is the id may have none.
    const answer = said[option] === undefined ? 'ids-from' : option;
    if (said[answer] === undefined || answer in known) return [option];
    return [option, ...asked(list, said, { ...known, [answer]: said[answer] })];
  }
}

test.each([...collectorsLists, ...officeLists])(
  'is read right, or asks for what it does not show: $name',
  ({ list, asks = [], said = {}, plants, refused = [], problem }) => {
    if (problem !== undefined) return expect(() => read(list, said)).toThrow(problem);
    expect(asked(list, said)).toEqual(asks);
    const records = read(list, said);
    expect(words(records.filter(({ line }) => line))).toEqual(plants);
    const reasons = records.flatMap(({ row, problem }) => (problem ? [[row, problem]] : []));
    expect(reasons).toEqual(refused.map(([row, why]) => [row, expect.stringContaining(why)]));
  },
);

test.each(workbooks)('is read from a workbook as from CSV: $name', async ({ list, asks = [], said = {}, plants }) => {
  for (const cause of asks) await expect(interpretList(list, {})).rejects.toMatchObject({ cause });
  const { text, layout } = await interpretList(list, said);
  expect(words([...recordsOf(text, layout)])).toEqual(plants);
});

test('a workbook that is none, or of another program, says how to save it', async () => {
  const [archive, office] = ['PK\x03\x04', 'PK\x03\x04mimetypeapplication/vnd.oasis.opendocument'].map((text) =>
    Buffer.from(text),
  );
  await expect(interpretList(archive as Buffer, {})).rejects.toThrow('cannot be read');
  await expect(interpretList(office as Buffer, {})).rejects.toThrow('save it as .xlsx, or as CSV');
});

describe('an encoding', () => {
  const latin = (text: string) => Buffer.from(text, 'latin1');

  test.each<[list: Buffer, said: string | undefined, message: string]>([
    [latin('id,name\n1,\x81\n'), 'windows-1252', 'line 2 has control characters, so the list is not in windows-1252'],
    [latin('id,name\n1,\xe4\n'), 'utf-8', 'the list is not in utf-8'],
    [latin('id,name\n1,\xe4\n'), 'cp850', 'the list is not in cp850'],
    [Buffer.from('id,name\n', 'utf16le'), undefined, 'line 1 has control characters, so the list is not in utf-8'],
    [latin('id,name\n1,\x1b$B;z\x1b(B\n'), undefined, 'iso-2022-jp: 1,'],
    [Buffer.from('\uFEFFid,nam\uD83C', 'utf16le'), undefined, 'the list is not in utf-16le'],
    [latin('id,name\n1,\xe4\n'), undefined, 'iconv -f CP850 -t UTF-8 converts a list of DOS'],
  ])('of %j that is said to be %j asks: %s', (list, said, message) => {
    expect(() => decodeList(list, said)).toThrow(
      expect.objectContaining({ cause: 'encoding', message: expect.stringContaining(message) }),
    );
  });

  test('that has words which are UTF-8 by chance is no other', () => {
    // In Windows-1250, these are the octets of U+04E3 in UTF-8.
    const list = latin('id,name\n1,SP\xd3\xa3KA\n2,\xaf\xf3\xb3ty\n');
    expect(words(read(list, { encoding: 'windows-1250' }))).toEqual(['1 SPÓŁKA', '2 Żółty']);
  });

  test('is offered with the first line that is not ASCII, if it fits', () => {
    const fitting = fittingEncodings(latin('id;name\r\n1;D\xb9b\r\n'));
    expect(fitting).toContainEqual({ encoding: 'windows-1250', sample: '1;Dąb' });
    expect(fittingEncodings(latin('1;\x81')).map(({ encoding }) => encoding)).not.toContain('windows-1252');
  });

  test('of DOS has an end mark, which is no plant', () => {
    expect(words(readText('id,name\r\n1,Rosa\r\n\x1a'))).toEqual(['1 Rosa']);
  });
});

describe('columns', () => {
  test.each<[list: string, said: Said, plants: string[]]>([
    ['Genus,Species,No.\nRosa,canina,1\nSalix,× fragilis,2\n', {}, ['1 Rosa canina', '2 Salix × fragilis']],
    ['id,name,type\n1,a,b\n2,c,\n', { columns: 'id=1,name=type+name' }, ['1 b a', '2 c']],
    ['7,Ficus\n8,Rosa\n', { columns: 'id=1,name=2' }, ['7 Ficus', '8 Rosa']],
    ['PK;Name\n7;Rosa\n', { columns: 'id=PK,name=Name' }, ['7 Rosa']],
    ['Titel\nx,y\n7,Ficus\n', { columns: 'id=x,name=y' }, ['7 Ficus']],
    ['"Pflanzen-\nnummer";Name\n7;Rosa\n', { columns: 'id=1,name=Name' }, ['7 Rosa']],
    [' ID ,NAME\n 7 ,Rosa\n', {}, ['7 Rosa']],
    ['name\nRosa\n\nFicus\n', { 'ids-from': '9007199254740993' }, ['9007199254740993 Rosa', '9007199254740994 Ficus']],
    ['id\tname\ttag\n1\ta\n;;\n', {}, ['1 a', '3: id must be a whole number, not ";;"']],
  ])('of %j, with %j, are understood', (list, said, plants) => {
    expect(words(readText(list, said))).toEqual(plants);
  });

  test.each<[list: string, said: Said, cause: string | undefined, message: string]>([
    ['Number,Plant\n3,Rosa\n5,Ficus\n', {}, 'columns', 'Is Number the id? It has whole numbers, each once.'],
    ['Nr,Plant\n3,Rosa\n3,Ficus\n', {}, 'columns', 'Is Nr the id? It has some numbers several times.'],
    ['Nr,Plant\nK-1,Rosa\n', {}, 'ids-from', 'Nr has no whole numbers.'],
    [
      'id,name\n3,Rosa\n',
      { 'ids-from': '1' },
      'columns',
      'id has whole numbers. If they are the ids, leave --ids-from out',
    ],
    ['Stock,Plant\n3,Rosa\n', { 'ids-from': '1' }, 'columns', 'Stock has whole numbers.'],
    ['id,name\n3,Rosa\n', { 'ids-from': '1', columns: 'id=1,name=2' }, 'ids-from', 'A list gets new numbers, or'],
    ['Plant,Nazwa,Nr\na,b,1\n', {}, 'columns', 'Which column is the name: Plant or Nazwa?'],
    ['Genus,Species,Nr\nRosa,Canina,1\n', {}, 'columns', 'Which columns are the name: Genus or Species?'],
    ['id,name,Family,Kategorie\n1,a,b,c\n', {}, 'columns', 'Which column is the tag: Family or Kategorie?'],
    ['id,name\n', { columns: 'id=1,name=colour' }, 'columns', 'No column is called colour.'],
    ['id,name\n', { columns: 'id=1,name=3' }, 'columns', 'No column is called 3.'],
    [
      'id,name\n',
      { columns: 'id,name' },
      'columns',
      'id is no column: write id=, name= or tag= and the names or numbers of columns.',
    ],
    ['\n \n', {}, undefined, 'the list is empty'],
    ['id,name\n1,"a\n', {}, undefined, 'row 2: a quote is never closed'],
  ])('of %j, with %j, ask: %s, %s', (list, said, cause, message) => {
    expect(() => readText(list, said)).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
    expect(() => readText(list, said)).toThrow(expect.objectContaining(cause ? { cause } : {}));
  });

  test('of a list that replaces plants must have a tag that is called so, or is said', () => {
    const replaces = { replaces: true };
    const question = expect.objectContaining({ cause: 'columns' });
    for (const list of ['id,name\n', 'id,name,type\n'])
      expect(detectLayout(list, replaces)).toMatchObject({ doubt: question });
    expect(detectLayout('id,name\n', { ...replaces, columns: 'id=1,name=2,tag=' })).toMatchObject({ tag: -1 });
    expect(detectLayout('id,name,tag\n', replaces)).toMatchObject({ tag: 2, doubt: undefined });
  });
});

describe('records', () => {
  test('of JSON are sent as they are, or with a number, and keep all digits', () => {
    expect(readText('{"id":1, "name":"a"}\r\n\nno\n').map(({ row, line }) => [row, line])).toEqual([
      [1, '{"id":1, "name":"a"}'],
      [3, 'no'],
    ]);
    expect(words(readText('{"name":"a"}\n{}\n{"name":"b"}', { 'ids-from': '9007199254740993' }))).toEqual([
      '9007199254740993 a',
      '2: the line must be a JSON object with a name',
      '9007199254740995 b',
    ]);
    expect(() => readText('{"name":"a","id":0}\n', { 'ids-from': '1' })).toThrow('row 1 has an id');
    expect(words(readText(`{"name":"${'x'.repeat(70_000)}"}`))).toEqual(['1: a record has at most 65536 characters']);
  });

  test('go in batches of bounded size, whose refusals are those of rows', () => {
    const list = `id,name\n${Array.from({ length: 2_500 }, (_, n) => `${n % 1_000 === 7 ? 'x' : n},a ${n}\n`).join('')}`;
    const batches = [...batchesOf(recordsOf(list, detectLayout(list)), ['a  8 '])];
    expect(batches.map(({ plants, problems, leftOut }) => [plants.length, problems.length, leftOut])).toEqual([
      [999, 1, 1],
      [999, 1, 0],
      [498, 1, 0],
    ]);
    const [batch] = batches as [(typeof batches)[number]];
    const refusal = { line: 3, id: 2n, error: 40009, message: 'id 2 belongs to a different plant' };
    const result = { created: 998, changed: 0, unchanged: 0, ignored: [], refused: [refusal] };
    const outcome = outcomeOf(batch, result);
    expect(outcome.refused.map(({ row, raw, problem }) => [row, raw, problem])).toEqual([
      [4, '2,a 2\n', refusal.message],
      [9, 'x,a 7\n', 'id must be a whole number, not "x"'],
    ]);
    expect(outcome).toMatchObject({ created: 998, leftOut: 1 });
    const long = `id,name\n${Array.from({ length: 9 }, (_, n) => `${n},${'x'.repeat(60_000)}\n`).join('')}`;
    for (const { lines } of batchesOf(recordsOf(long, detectLayout(long)))) expect(lines.length).toBeLessThan(320_000);
  });
});
