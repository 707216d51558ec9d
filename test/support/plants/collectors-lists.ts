import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/* Lists as people's programs write them. */

export interface CollectorsList {
  readonly name: string;
  readonly list: Buffer;
  /** What the list asks for, one option after another, and what a person says then, by the names of options. */
  readonly asks?: readonly string[];
  readonly said?: Readonly<Record<string, string>>;
  /** Its plants, as `id name | tag`; undefined if it is refused as a whole. */
  readonly plants?: readonly string[];
  /** In which rows its records are refused, and why; or why all of it is. */
  readonly refused?: readonly (readonly [row: number, why: string])[];
  readonly problem?: string;
}

const list = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding);

export const collectorsLists: readonly CollectorsList[] = [
  {
    name: 'Excel in German, with semicolons in Windows-1252',
    list: list('Nr;Botanischer Name;Gattung\r\n1;B\xe4renklau;Kr\xe4uter\r\n2;"Rosa ""Peace""";\r\n', 'latin1'),
    asks: ['encoding'],
    said: { encoding: 'windows-1252' },
    plants: ['1 Bärenklau | Kräuter', '2 Rosa "Peace"'],
  },
  {
    name: 'Excel, with its line for the separator',
    list: list('\uFEFFsep=;\r\nid;name, latin\r\n1;Rosa\r\n'),
    asks: ['columns'],
    said: { columns: 'id=id,name=2' },
    plants: ['1 Rosa'],
  },
  {
    name: 'Google Sheets',
    list: list(' ID ,Name,Tag\r\n1, Épinard,"a, b"\r\n2,Rosa,'),
    plants: ['1  Épinard | a, b', '2 Rosa'],
  },
  { name: 'Numbers', list: list('\uFEFF\nTabelle 1\nNummer;Pflanze\n1;Ficus\n'), plants: ['1 Ficus'] },
  {
    name: 'LibreOffice',
    list: list('"id","name","tag"\n1,"Rosa","rose"\n2,"",""\n'),
    plants: ['1 Rosa | rose', '2  | '],
  },
  {
    name: 'a price list of a nursery, with a title and sections',
    list: list(
      'Preisliste;;\r\n;;\r\nGärtnerei Grün;;\r\nArtikelnummer;Pflanze;Preis\r\nStauden;;\r\n17;Salvia;3,50\r\n',
    ),
    plants: ['17 Salvia'],
    refused: [[5, 'id must be a whole number, not "Stauden"']],
  },
  {
    name: 'pipes, as WCVP has them',
    list: list('plant_name_id|family|taxon_name\n1|Rosaceae|Rosa "Peace", L.\n2||Rosa canina\n'),
    asks: ['columns'],
    said: { columns: 'id=plant_name_id,tag=family,name=taxon_name' },
    plants: ['1 Rosa "Peace", L. | Rosaceae', '2 Rosa canina'],
  },
  {
    name: 'tabs, as GBIF has them',
    list: list(
      'taxonID\tscientificName\tfamily\n1\tRosa "Peace"\tRosaceae\n2\t"Peace" rose\tRosaceae\n3\tSalvia L.\t\n',
    ),
    plants: ['1 Rosa "Peace" | Rosaceae', '3 Salvia L.'],
    refused: [[3, 'quotes must enclose a whole cell']],
  },
  {
    name: 'tabs, as mysql --batch writes them',
    list: list('id\tname\ttag\n1\tRosa\tNULL\n2\tnull\t\n'),
    plants: ['1 Rosa | NULL', '2 null'],
  },
  {
    name: 'a MySQL dump',
    list: list("-- MySQL dump\nINSERT INTO `plants` VALUES (1,'Rosa',NULL);\n"),
    problem: 'No row has known names of columns. The first one has 1: -- MySQL dump.',
  },
  {
    name: 'ids with leading zeros',
    list: list('id,name\n00012,Rosa\n13,Salvia\n'),
    plants: ['13 Salvia'],
    refused: [[2, 'id must have no leading zeros: write 12, not "00012"']],
  },
  {
    name: 'ids with letters',
    list: list('key,title\nP-17,Rosa\n,Ficus\n18,Salvia\n'),
    plants: ['18 Salvia'],
    refused: [
      [2, 'id must be a whole number, not "P-17"'],
      [3, 'id is missing'],
    ],
  },
  {
    name: 'cells with line breaks',
    list: list('tag,id,name\n"a\nb",1,"Rosa\r\n""Peace"""\n,x,\n'),
    plants: ['1 Rosa\r\n"Peace" | a\nb'],
    refused: [[3, 'id must be a whole number, not "x"']],
  },
  {
    name: 'UTF-16, as the Unicode text of Excel',
    list: list('\uFEFFNummer\tPflanze\r\n1\tĊĊ 🌵\r\n2\t\r\n', 'utf16le'),
    plants: ['1 ĊĊ 🌵'],
    refused: [[3, 'name is missing']],
  },
  {
    name: 'UTF-16 of the other byte order',
    list: list('\uFEFFid,name\n1,Ċ🌵\n', 'utf16le').swap16(),
    plants: ['1 Ċ🌵'],
  },
  {
    name: 'a workbook',
    list: list('PK\x03\x04\x14\x00\x06\x00\x08\x00\xc3\xa4\xff\n', 'latin1'),
    problem: 'this is a workbook, as .ods and .xls are: save it as .xlsx, or as CSV',
  },
  {
    name: 'two encodings',
    list: list('id,name\n1,\xc3\xa4\n2,\xe4\n', 'latin1'),
    asks: ['encoding'],
    said: { encoding: 'windows-1252' },
    problem: 'line 2 is UTF-8, and other lines are not: the list is in two encodings',
  },
];

function listsIn(file: string): readonly CollectorsList[] {
  const lines = readFileSync(join(import.meta.dirname, file), 'utf8')
    .trim()
    .split('\n');
  const revive = (key: string, value: unknown) => (key === 'list' ? Buffer.from(`${value}`, 'base64') : value);
  return lines.map((line) => JSON.parse(line, revive) as CollectorsList);
}

/** What LibreOffice has made in nine languages, six encodings and with three separators, and lists of gardens. */
export const officeLists = listsIn('office-lists.ndjson');
/** As .xlsx, by LibreOffice. `plants` has the refused records, too, by their rows. */
export const workbooks = listsIn('workbooks.ndjson');
/** Three of the lists above as .xlsx, and `garden` with two sheets, an id of 16 digits and half a megabyte of notes. */
export const pageWorkbooks = listsIn('page-workbooks.ndjson');

/** A plant as the lists above have it. */
export const inWords = ({ id, name, tag }: { id: bigint; name: string; tag?: string }) =>
  `${id} ${name}${tag === undefined ? '' : ` | ${tag}`}`;
