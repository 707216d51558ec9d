import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { int64 } from '../../support/plants/json-forms.ts';
import { readList, recordsOf } from '../../support/plants/lists.ts';

const ID_RULE = 'id must be a whole number';
const NO_ID = ': leave the line out if it is no plant, or leave the ids out and let the import number the list';

test.each([
  ['Id;"NAME";tag\r\n1;"a;b";\r\n2;c,d;e\r\n'],
  ['\uFEFFid\tName\tTAG\r\n1\ta;b\t\r\n2\t"c,d"\te\r\n'],
  ['name| Id |tag \na;b|1|\n"c,d"|2|e\n'],
])('recognizes the separators in %j, and the columns by their names, in any order and case', async (list) => {
  expect(await recordsOf(list)).toEqual([
    [2, { id: 1n, name: 'a;b' }],
    [3, { id: 2n, name: 'c,d', tag: 'e' }],
  ]);
});

test('says what the columns are, what separates them, and which mean nothing', async () => {
  const list = 'Colour;ID;Name;;colour;COLOUR\n';
  expect(await readList(list)).toMatchObject({
    layout: { columns: ['', 'id', 'name', '', '', ''], separator: ';' },
    ignored: ['Colour', 'colour', 'COLOUR'],
  });
  const many = Array.from({ length: 500 }, (_, n) => `${'x'.repeat(200)}${n}`);
  const { ignored } = await readList(`id,name,${many}\n`);
  expect(ignored).toEqual([`${'x'.repeat(100)}…`]);
});

test.each<[guessed: Record<string, string>, ignored: string[], names: string]>([
  [{ id: 'Nr', name: ' Botanischer  Name', tag: 'GATTUNG' }, ['Preis'], 'Nr; Botanischer  Name;Preis;GATTUNG'],
  [{ id: 'NO', tag: 'type' }, ['Key', 'species', 'Family'], 'Key,NO,species,Family,type,Name'],
  [{ name: 'title' }, ['number'], 'number,id,title,tag'],
])('guesses the columns %j, and ignores %j', async (guessed, ignored, names) => {
  expect(await readList(`${names}\n`)).toMatchObject({
    layout: { guessed: Object.entries(guessed).map(([column, name]) => ({ column, name })), header: 1 },
    ignored,
  });
});

test('guesses no id of a list that is numbered, and no tag of one that replaces plants', async () => {
  const list = 'Nr,Name,Type\n';
  expect(await readList(list, { idsFrom: 1n })).toMatchObject({
    layout: { columns: ['', 'name', 'tag'] },
    ignored: ['Nr'],
  });
  await expect(readList(list, { replaces: true })).rejects.toThrow(
    'existing=replace would delete tags, since there is no column tag; if "Type" is the tag, say so: columns=id,name,tag',
  );
});

test('finds the names below titles, among the first twenty lines that are not blank, or in the line that is given', async () => {
  const titles = (count: number) => 'Plants, 2026\n\n'.repeat(count);
  expect(await recordsOf(`${titles(19)}id,name\n1,a\n`)).toEqual([[40, { id: 1n, name: 'a' }]]);
  expect(await recordsOf(`${titles(30)}id,name\n1,a\n`, { header: 61 })).toEqual([[62, { id: 1n, name: 'a' }]]);
  expect(await recordsOf('id;name\nnr;plant\n1;a\n', { header: 2 })).toEqual([[3, { id: 1n, name: 'a' }]]);
  const columns = ['name', 'id'] as const;
  const given = await readList('id;name;x\na;1\n', { header: 1, columns });
  expect(given).toMatchObject({ layout: { columns: ['name', 'id', ''], names: ['id', 'name', 'x'] }, ignored: ['x'] });
  const reading = (list: string, header?: number) => expect(readList(list, { header })).rejects;
  await reading(`${titles(20)}id,name\n`).toThrow('line 1: there is no column id and no column name');
  await reading('Plants\nName,Price\n').toThrow('line 2: there is no column id; it must name');
  await reading('id,name\n', 3).toThrow('there is no line that names the columns');
});

const NO_CELL = 'quotes must enclose a whole cell, and be doubled within it';
const ROUNDED = ': a spreadsheet has rounded it; format the column as text before you enter ids';
const SEPARATED = ': write digits only, without a separator';

test.each([
  ['1,"Rosa" Peace', NO_CELL],
  ['1,a,b', 'there are more cells than columns, of which there are 2'],
  ['1,', 'name is missing; write "" for an empty name'],
  ['"",a', 'id is missing for "a"'],
  ['"",', 'id is missing'],
  ['"1,5",a', `${ID_RULE}, not "1,5"${SEPARATED}`],
  [' 13 ,a', `${ID_RULE}, not " 13 ": remove the spaces`],
  ['\u200b7\u00a0,a', `${ID_RULE}, not "\\u200b7\\u00a0"${NO_ID}`],
  ['-05,a', 'id must have no leading zeros: write -5, not "-05"'],
  ['"9,22337E+18",a', `${ID_RULE}, not "9,22337E+18"${ROUNDED}`],
  ['9223372036854775808,a', `${ID_RULE} from -${2n ** 63n} to ${2n ** 63n - 1n}, not "9223372036854775808"`],
  [`${'x'.repeat(5_000)},a`, `${ID_RULE}, not "${'x'.repeat(100)}…"${NO_ID}`],
  ['1,"\0"', 'name must be a string of at most 1000 characters without U+0000 and without lone surrogates'],
])('refuses the record %.20s only', async (record, message) => {
  const list = Buffer.concat([Buffer.from('id,name\n'), Buffer.from(record), Buffer.from('\n2,b\n')]);
  expect(await recordsOf(list)).toEqual([
    [2, message],
    [3, { id: 2n, name: 'b' }],
  ]);
});

test('takes a long id that begins as a number for one, without a look at the rest, which could take long', async () => {
  const zeros = '0'.repeat(1_000);
  const { records } = await readList(`id,name\n${zeros}x,a\nx${zeros},b\n`);
  expect(records.map(({ isUnnumbered }) => isUnnumbered)).toEqual([false, true]);
});

test('knows which lines a stray quote has joined into one record, and the id of what it refuses', async () => {
  const list = 'id,name\n1,12" pot\n2,b\n3,c\n4,12" pot\n5,\n6,"f\n\n"\n';
  const { records } = await readList(list);
  expect(records.map(({ line, lastLine, id, refusal }) => [line, lastLine, id, refusal?.message])).toEqual([
    [2, 5, undefined, NO_CELL],
    [6, 6, 5n, 'name is missing; write "" for an empty name'],
    [7, 9, 6n, undefined],
  ]);
});

const CUT = 'curl -d removes line ends: use --data-binary';
const naming = (shown: string) => `; it must name the columns, as in id,name,tag, and is ${shown}`;

test.each<[code: string, message: string, list: string | Buffer]>([
  ['malformed_json', 'the list is empty', '\r\n \n\t'],
  ['invalid_plant', `line 1: there is no column id and no column name${naming('"1,Rosa"')}`, '1,Rosa\n'],
  ['invalid_plant', `line 3: there is no column name${naming('"id"')}`, '\n\nid\n'],
  ['invalid_plant', `line 1: there is no column id${naming('"title;Name"')}`, 'title;Name\n'],
  ['invalid_plant', 'line 1: the column tag is there twice', 'id,name,tag,Tag\n'],
  ['invalid_plant', `line 1: ${NO_CELL}${naming('"id,\\"name"')}`, 'id,"name\n1,a"\n'],
  ['invalid_plant', 'line 1: lines must end with LF or CR LF, not with CR alone; in Excel, ', 'id,name\r1,a\r'],
  ['invalid_plant', `which there are 1000${naming(`"id,name${','.repeat(93)}…"`)}`, `id,name${','.repeat(1_000)}\n`],
  ['invalid_plant', `line 1: there is no column name${naming('"id,name1,a"')}; ${CUT}`, 'id,name1,a'],
  ['invalid_plant', 'line 3: a quote is never closed', 'id,name\n1,a\n2,"b\n3,c\n'],
])('refuses a list as a whole, %s: %s', async (code, message, list) => {
  await expect(readList(list)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
});

test('leaves out a byte order mark at the beginning, also of a list that begins with a text', async () => {
  expect(await recordsOf('\uFEFFa,1\n\uFEFFb,2\n', { columns: ['name', 'id'] })).toEqual([
    [1, { id: 1n, name: 'a' }],
    [2, { id: 2n, name: '\uFEFFb' }],
  ]);
  expect(await recordsOf('"\uFEFFa",1\n', { columns: ['name', 'id'] })).toEqual([[1, { id: 1n, name: '\uFEFFa' }]]);
});

test('does not take U+0000 in the first text for UTF-16', async () => {
  const rule = 'name must be a string of at most 1000 characters without U+0000 and without lone surrogates';
  expect(await recordsOf('a\0,1\n', { columns: ['name', 'id'] })).toEqual([[1, rule]]);
});

/**
 * A text as a cell, in quotes where it must be, also to keep a byte order mark at the beginning of a list, or by chance;
 * undefined as an empty one.
 */
function cell(text: string | undefined, quoted: boolean): string {
  if (text === undefined) return '';
  return quoted || text === '' || /^\uFEFF|[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

test('reads every plant that RFC 4180 can write exactly, and gives its lines, with the names or without', async () => {
  const text = fc
    .oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'",;|\t\r\nx') }),
      fc.string({ unit: 'binary' }).map((end) => `\uFEFF${end}`),
    )
    .filter((text) => !text.includes('\0'));
  const row = fc.record({ id: int64, name: text, tag: fc.option(text, { nil: undefined }), quoted: fc.boolean() });
  const format = {
    separator: fc.constantFrom(...([',', ';', '\t', '|'] as const)),
    end: fc.constantFrom('\n', '\r\n'),
  };
  const order = fc.shuffledSubarray(['id', 'name', 'tag'] as const, { minLength: 3 });
  const list = fc.record({ rows: fc.array(row), order, ...format });
  await fc.assert(
    fc.asyncProperty(list, async ({ rows, order, separator, end }) => {
      const cells = rows.map(({ id, name, tag, quoted }) => {
        const texts = { id: `${id}`, name: cell(name, quoted), tag: cell(tag, quoted) };
        return order.map((column) => texts[column]);
      });
      const lines = cells.map((row) => row.join(separator) + end);
      const linesBefore = (n: number) => lines.slice(0, n).join('').split('\n').length;
      const plants = (first: number) =>
        rows.map(({ id, name, tag }, n) => [linesBefore(n) + first, { id, name, ...(tag !== undefined && { tag }) }]);
      expect(await recordsOf([order.join(separator) + end, ...lines].join(''))).toEqual(plants(1));
      if (rows.length === 0) return;
      expect(await recordsOf(lines.join(''), { columns: order, separator })).toEqual(plants(0));
    }),
  );
});
