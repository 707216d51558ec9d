import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { csvEntries } from '../../../src/adapters/import/csv.ts';
import { linesOf, MAX_LINE } from '../../../src/adapters/import/lines.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { int64 } from '../../support/plants/json-forms.ts';
import { chunks, collected } from '../../support/plants/lists.ts';

const ID_RULE = 'id must be an integer from -9223372036854775808 to 9223372036854775807';

const SAVE = 'save the list as "CSV UTF-8"';

/** What was read: the line, and the plant or why it is none. */
async function read(...parts: (string | Buffer)[]) {
  const entries = await collected(csvEntries(linesOf(chunks(...parts))));
  return entries.map(({ line, content }) => [
    line.number,
    content instanceof PlantStoreError ? content.message : content,
  ]);
}

test.each([
  ['Id;"NAME";tag\r\n1;"a;b";\r\n2;c,d;e\r\n'],
  ['\uFEFFid\tName\tTAG\r\n1\ta;b\t\r\n2\t"c,d"\te\r\n'],
  ['colour,tag,name,ID\r\nred,,a;b,1\r\n,e,"c,d",2'],
])('recognizes the separators in %j, and the columns by their names, in any order and case', async (list) => {
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

test.each([
  ['1,Rosa "Peace"', 'quotes must enclose a whole cell, and be doubled within it'],
  ['1,"Rosa" Peace', 'quotes must enclose a whole cell, and be doubled within it'],
  ['1,a,b', 'there are 3 cells, but the first line names 2 columns'],
  ['1', 'name is missing; write "" for an empty name'],
  ['1,', 'name is missing; write "" for an empty name'],
  [',a', 'id is missing'],
  ['1.0,a', ID_RULE],
  ['9.22337E+18,a', `${ID_RULE}; a spreadsheet has rounded this one: format the column as text before you enter ids`],
  ['"9,22337E+18",a', `${ID_RULE}; a spreadsheet has rounded this one: format the column as text before you enter ids`],
  [' 1,a', ID_RULE],
  [Buffer.from([0x31, 0x2c, 0xff]), `the line must be valid UTF-8; in Excel, ${SAVE}`],
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

const columns = 'the first line must name the columns, as in id,name,tag';
const unreadable = (why: string) =>
  `the first line cannot be read (${why}): it must name the columns, as in id,name,tag`;

test.each<[message: string, list: string | Buffer]>([
  ['the list is empty', ''],
  ['the list is empty', '\uFEFF'],
  ['the list is empty', '\r\n\n'],
  [`the columns id and name are missing: ${columns}; it is 1,rosa`, '1,Rosa\n'],
  [`the column name is missing: ${columns}; it is id`, 'id\n'],
  [`the column id is missing: ${columns}; it is title;name`, 'title;Name\n'],
  [`the column id is there twice: ${columns}; it is id\tid\tname`, 'id\tid\tname\n'],
  [`the column tag is there twice: ${columns}; it is id,name,tag,tag`, 'id,name,tag,Tag\n'],
  [unreadable(`the line must be valid UTF-8; in Excel, ${SAVE}`), Buffer.from('id,name,größe\n', 'latin1')],
  [unreadable('quotes must enclose a whole cell, and be doubled within it'), 'id,na"m"e\n'],
  [unreadable('a quote is never closed'), 'id,"name\n'],
  [unreadable(`lines must end with LF or CR LF, not with CR alone; in Excel, ${SAVE}`), 'id,name\r1,a\r'],
  [unreadable('the line is larger than 1048576 bytes'), `id,name,${'x'.repeat(MAX_LINE)}\n`],
])('refuses a list, and says why: %s', async (message, list) => {
  await expect(read(list)).rejects.toEqual(new Error(message));
});

/** A text as a cell, in quotes where it must be or by chance; undefined as an empty one. */
function cell(text: string | undefined, quoted: boolean): string {
  if (text === undefined) return '';
  return quoted || text === '' || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

test('reads every plant that RFC 4180 can write exactly, and gives the line where it begins, wherever the chunks end', async () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'",;\t\r\nx') }));
  const row = fc.record({ id: int64, name: text, tag: fc.option(text, { nil: undefined }), quoted: fc.boolean() });
  const format = { separator: fc.constantFrom(',', ';', '\t'), end: fc.constantFrom('\n', '\r\n') };
  const list = fc.record({ rows: fc.array(row), cut: fc.nat(), ...format });
  await fc.assert(
    fc.asyncProperty(list, async ({ rows, cut, separator, end }) => {
      const cells = rows.map(({ id, name, tag, quoted }) => [`${id}`, cell(tag, quoted), cell(name, quoted)]);
      const records = [['id', 'tag', 'name'], ...cells].map((row) => row.join(separator) + end);
      const file = Buffer.from(records.join(''));
      const middle = cut % file.length;
      const linesBefore = (n: number) => records.slice(0, n).join('').split('\n').length;
      const plants = rows.map(({ id, name, tag }, n) => [
        linesBefore(n + 1),
        { id, name, ...(tag !== undefined && { tag }) },
      ]);
      expect(await read(file.subarray(0, middle), file.subarray(middle))).toEqual(plants);
    }),
  );
});
