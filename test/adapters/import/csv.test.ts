import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { csvEntries } from '../../../src/adapters/import/csv.ts';
import { linesOf, MAX_LINE } from '../../../src/adapters/import/lines.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { int64 } from '../../support/plants/json-forms.ts';
import { chunks, collected } from '../../support/plants/lists.ts';

const ID_RULE = 'id must be an integer from -9223372036854775808 to 9223372036854775807';

/** What was read: the line, and the plant or why it is none. */
async function read(...parts: (string | Buffer)[]) {
  const entries = await collected(csvEntries(linesOf(chunks(...parts))));
  return entries.map(({ line, content }) => [
    line.number,
    content instanceof PlantStoreError ? content.message : content,
  ]);
}

test('reads the columns by their names, in any order, and ignores the others', async () => {
  expect(await read('colour,name,tag,id\nred,Rosa,shrub,1\n,Acer,,-9223372036854775808\n')).toEqual([
    [2, { id: 1n, name: 'Rosa', tag: 'shrub' }],
    [3, { id: -9223372036854775808n, name: 'Acer' }],
  ]);
  expect(await read('id,name\n9223372036854775807,Rosa')).toEqual([[2, { id: 9223372036854775807n, name: 'Rosa' }]]);
});

test.each([
  ['semicolons', 'Id;"NAME";tag\r\n1;"a;b";\r\n2;c,d;e\r\n'],
  ['tabs', '\uFEFFid\tName\tTAG\r\n1\ta;b\t\r\n2\t"c,d"\te\r\n'],
  ['commas', 'ID,name,Tag\r\n1,a;b,\r\n2,"c,d",e\r\n'],
])('recognizes %s in the first line as separators, and the columns in any case', async (_name, list) => {
  expect(await read(list)).toEqual([
    [2, { id: 1n, name: 'a;b' }],
    [3, { id: 2n, name: 'c,d', tag: 'e' }],
  ]);
});

// https://www.stata.com/support/faqs/data-management/how-excel-writes-empty-cells/
test('takes cells that Excel leaves out at the end of a line as empty, and skips rows without any value', async () => {
  expect(await read('id;name;tag\n;;\n1;a\n;;\n\n2;b;\n')).toEqual([
    [3, { id: 1n, name: 'a' }],
    [6, { id: 2n, name: 'b' }],
  ]);
});

test('takes an empty cell for no value and a quoted one for the empty text', async () => {
  expect(await read('id,name,tag\n1,a,\n2,a,""\n3,"",a\n4,,a\n')).toEqual([
    [2, { id: 1n, name: 'a' }],
    [3, { id: 2n, name: 'a', tag: '' }],
    [4, { id: 3n, name: '', tag: 'a' }],
    [5, 'name is missing; write "" for an empty name'],
  ]);
});

test('reads quotes, commas and line ends within quotes, and gives the line where a record begins', async () => {
  expect(await read('id,name\r\n1,"a ""b"", c"\r\n2,"a\r\n\r\nb\n"\r\n\r\n3,d\r\n')).toEqual([
    [2, { id: 1n, name: 'a "b", c' }],
    [3, { id: 2n, name: 'a\r\n\r\nb\n' }],
    [8, { id: 3n, name: 'd' }],
  ]);
});

test.each([
  ['1,Rosa "Peace"', 'quotes must enclose a whole cell, and be doubled within it'],
  ['1,"Rosa" Peace', 'quotes must enclose a whole cell, and be doubled within it'],
  ['1,a,b', 'there are 3 cells, but the first line names 2 columns'],
  ['1', 'name is missing; write "" for an empty name'],
  [',a', 'id is missing'],
  ['1.0,a', ID_RULE],
  ['9.22337E+18,a', `${ID_RULE}; a spreadsheet has rounded this one: format the column as text before you enter ids`],
  ['"9,22337E+18",a', `${ID_RULE}; a spreadsheet has rounded this one: format the column as text before you enter ids`],
  [' 1,a', ID_RULE],
  [Buffer.from([0x31, 0x2c, 0xff]), 'the line must be valid UTF-8; in Excel, save the list as "CSV UTF-8"'],
  [`1,${'x'.repeat(MAX_LINE)}`, 'the line is larger than 1048576 bytes'],
])('refuses the record %.20s only', async (record, message) => {
  expect(await read('id,name\n', record, '\n2,b\n')).toEqual([
    [2, message],
    [3, { id: 2n, name: 'b' }],
  ]);
});

test('gives up on a quote that is not closed within the limit, and goes on after that', async () => {
  const line = `${'x'.repeat(99)}\n`;
  const entries = await read('id,name\n1,"a\n', line.repeat(20_000), '2,b\n3,"c\n4,d\n');
  expect(entries[0]).toEqual([2, 'a quote is not closed within 1048576 bytes']);
  expect(entries.slice(-2)).toEqual([
    [20_003, { id: 2n, name: 'b' }],
    [20_004, 'a quote is never closed'],
  ]);
});

test('knows which lines a stray quote has joined into one record, up to the next quote or the end', async () => {
  const list = 'id,name\n1,12" pot\n2,b\n3,c\n4,12" pot\n5,e\n6,"f\n\n7,g\n';
  const entries = await collected(csvEntries(linesOf(chunks(list))));
  expect(entries.map(({ line, content }) => [line.number, line.lastNumber, content instanceof Error])).toEqual([
    [2, 5, true],
    [6, 6, false],
    [7, 9, true],
  ]);
});

test.each([
  ['1,Rosa', 'the columns id and name are missing'],
  ['id', 'the column name is missing'],
  ['title;Name', 'the column id is missing'],
  ['id\tid\tname', 'the column id is there twice'],
  ['id,name,tag,Tag', 'the column tag is there twice'],
])('refuses the first line %s, and says why', async (header, why) => {
  const message = `${why}: the first line must name the columns, as in id,name,tag; it is ${header.toLowerCase()}`;
  await expect(read(`${header}\n1,a\n`)).rejects.toEqual(new Error(message));
});

test.each(['', '\uFEFF', '\r\n\n'])('refuses the empty list %j', async (list) => {
  await expect(read(list)).rejects.toEqual(new Error('the list is empty'));
});

test.each<[what: string, list: string | Buffer, why: string]>([
  [
    'in Latin-1',
    Buffer.from('id,name,größe\n1,a,b\n', 'latin1'),
    'the line must be valid UTF-8; in Excel, save the list as "CSV UTF-8"',
  ],
  ['with a quote in a cell', 'id,na"m"e\n1,a\n', 'quotes must enclose a whole cell, and be doubled within it'],
  ['with an open quote', 'id,"name\n1,a\n', 'a quote is never closed'],
  [
    'with CR alone',
    'id,name\r1,a\r',
    'lines must end with LF or CR LF, not with CR alone; in Excel, save the list as "CSV UTF-8"',
  ],
  ['that is too long', `id,name,${'x'.repeat(MAX_LINE)}\n1,a\n`, 'the line is larger than 1048576 bytes'],
])('refuses a first line %s, and says why', async (_what, list, why) => {
  const message = `the first line cannot be read (${why}): it must name the columns, as in id,name,tag`;
  await expect(read(list)).rejects.toEqual(new Error(message));
});

/** A text as a cell, in quotes where it must be or by chance; undefined as an empty one. */
function cell(text: string | undefined, quoted: boolean): string {
  if (text === undefined) return '';
  return quoted || text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

test('reads every plant that RFC 4180 can write exactly, wherever the chunks end', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom('"', ',', ';', '\t', '\r', '\n', 'x')).map((all) => all.join('')),
  );
  const row = fc.record({ id: int64, name: text, tag: fc.option(text, { nil: undefined }), quoted: fc.boolean() });
  const lineEnd = fc.constantFrom('\n', '\r\n');
  await fc.assert(
    fc.asyncProperty(
      fc.array(row),
      fc.constantFrom(',', ';', '\t'),
      lineEnd,
      fc.nat(),
      async (rows, separator, end, cut) => {
        const cells = rows.map(({ id, name, tag, quoted }) => [`${id}`, cell(tag, quoted), cell(name, quoted)]);
        const file = Buffer.from([['id', 'tag', 'name'], ...cells].map((row) => row.join(separator)).join(end));
        const middle = cut % file.length;
        const entries = await collected(csvEntries(linesOf(chunks(file.subarray(0, middle), file.subarray(middle)))));
        const plants = rows.map(({ id, name, tag }) => ({ id, name, ...(tag !== undefined && { tag }) }));
        expect(entries.map(({ content }) => content)).toEqual(plants);
      },
    ),
  );
});
