import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { shown, visible } from '../formats/shown.ts';
import { type ColumnOptions, detectLayout, type Layout } from '../lists/columns.js';
import { decodeList, LIST_BYTES_MAX } from '../lists/encodings.js';
import { sheetText } from '../lists/workbooks.js';
import { RUN_AGAIN } from './remote-service.ts';

/** What a person says about a list. */
export interface ListOptions extends ColumnOptions {
  readonly encoding?: string | undefined;
  readonly sheet?: string | undefined;
}

/** The option that supplies what cannot be detected. */
const ADVICE = {
  encoding: 'Give it as --encoding NAME.',
  sheet: 'Give it as --sheet NAME.',
  columns: 'Give them by names or numbers, as in --columns id=Nr,name=Genus+Species,tag=4.',
  'ids-from': 'Name the column of ids in --columns id=..., or number the list with --ids-from N.',
};

/**
 * Reads a whole list. `layout` is undefined if it has lines of JSON, and `description` says how the list was interpreted.
 *
 * @param file - for standard input
 * @throws Error that names the option which says what the list does not show
 */
export async function readList(file: string, options: ListOptions, stop: AbortSignal) {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of addAbortSignal(stop, file === '-' ? process.stdin : createReadStream(file))) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LIST_BYTES_MAX) break;
  }
  /** @throws Error once the file has changed: the last record that was read may be cut off */
  function refuseChanged(): void {
    const now = file === '-' ? undefined : statSync(file);
    if (!now?.isFile() || now.size === size) return;
    throw new Error(`${file} has changed since it was read, and was not imported to its end. ${RUN_AGAIN}`);
  }
  try {
    return { ...(await interpretList(Buffer.concat(chunks), options)), refuseChanged };
  } catch (error) {
    const { message, cause } = error as Error;
    const lines = [...message.split('\n').map(visible), ADVICE[cause as keyof typeof ADVICE] ?? ''];
    throw new Error(lines.join('\n').trimEnd());
  }
}

/** @throws Error of the reader, whose cause is the option that says what the list does not show */
export async function interpretList(bytes: Buffer, options: ListOptions) {
  // The library is loaded with the first workbook.
  const library = () => import('read-excel-file/node');
  const sheet = await sheetText(bytes, async (how) => (await library()).default(bytes, how), options.sheet);
  const { text, encoding } =
    sheet === undefined ? decodeList(bytes, options.encoding) : { text: sheet, encoding: '.xlsx' };
  const layout = /^\s*[{[]/.test(text) ? undefined : detectLayout(text, options);
  if (layout?.doubt) throw layout.doubt;
  const description = `The list is in ${encoding}. ${layout ? columnsOf(layout) : 'It has lines of JSON.'}`;
  return { text, layout, description };
}

/** Says which columns were taken for the id, the name and the tag. */
function columnsOf({ header, names, id, name, tag }: Layout): string {
  const textOf = (columns: readonly number[]) => columns.map((n) => shown(names[n] ?? '')).join(' and ');
  const roles = Object.entries({ id: [id], name, tag: [tag] }).filter(([, [first = -1]]) => first >= 0);
  const columns = roles.map(([role, columns]) => `${textOf(columns)} is the ${role}`).join(', ');
  const ignoredNames = names.flatMap((text, n) => (text === '' || [id, tag, ...name].includes(n) ? [] : shown(text)));
  const ignoredText = ignoredNames.length > 0 ? `, and nothing is ${ignoredNames.join(', ')}` : '';
  return `${header === 0 ? 'No row' : `Row ${header}`} names the columns: ${columns}${ignoredText}.`;
}

/**
 * Writes the refused records, if there are any, unchanged and in UTF-8. It overwrites nothing, since an earlier file may have
 * been corrected: the next one is NAME.rejected.2.csv.
 *
 * @throws Error if they cannot be written; it shows them
 */
export function saveRefused(name: string, layout: Layout | undefined, records: string, number = 1): void {
  if (records === '') return;
  const text = layout ? `\uFEFF${layout.head}${records}` : records;
  const file = `${name}.rejected.${number === 1 ? '' : `${number}.`}${layout ? 'csv' : 'ndjson'}`;
  try {
    // Exclusively, so that no link is followed and nothing is overwritten.
    writeFileSync(file, text, { flag: 'wx' });
    console.log(`Refused records are in ${file}. Correct them, and import that file.`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new Error(`These refused records cannot be written (${message}):\n${text}`);
    saveRefused(name, layout, records, number + 1);
  }
}
