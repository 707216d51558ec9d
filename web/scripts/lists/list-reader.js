/** @import { Layout } from '../../../src/lists/columns.js' */
import { understand } from '../../../src/lists/columns.js';
import { candidates, decodedList } from '../../../src/lists/encodings.js';
import { sheetText } from '../../../src/lists/workbooks.js';

/**
 * A list that was dropped or chosen. `encodings` has those that it may have, if that is not certain, `sheets` those of a
 * workbook, `layout` is that of CSV.
 *
 * @typedef {{ file: File, text: string, encoding: string, encodings: { encoding: string, sample: string }[],
 *   sheets: string[], sheet: string, layout: Layout | undefined }} List
 */
/**
 * How a list is to be read and stored. `idsFrom` is the id of the first record of a list without ids, and `skipsNames` says
 * that plants whose names are stored are left out.
 *
 * @typedef {{ list: List, layout: Layout | undefined, existing: string, idsFrom: bigint | undefined,
 *   skipsNames: boolean }} Reading
 */
/** What a person says about a list in place of what was found. @typedef {{ encoding?: string, sheet?: string }} Chosen */

/** The library for workbooks, as the service serves it; it is loaded with the first one. */
const WORKBOOKS = '../../../read-excel-file.js';

/** Bytes of the largest list and workbook that the page reads: Chromium then has 330 and 400 MB of memory for it. */
const [BYTES_MAX, WORKBOOK_BYTES_MAX] = [32 * 1024 ** 2, 4 * 1024 ** 2];

/**
 * Reads a list in the encoding that is chosen, or else in one that fits it.
 *
 * @returns {Promise<List>}
 * @throws Error in words if it is no list
 */
export async function readList(/** @type {File} */ file, /** @type {Chosen} */ chosen) {
  if (file.size > BYTES_MAX)
    throw new Error(`This list is larger than ${BYTES_MAX >> 20} MiB: split it, or import it with npm run import.`);
  const bytes = await file.bytes().catch(() => {
    throw new Error('This list cannot be read: it was moved or changed, or it is a folder. Choose it again.');
  });
  const read = (await workbook(file, bytes, chosen)) ?? { sheets: [], sheet: '', ...decoded(bytes, chosen) };
  if (read.text.trim() === '') throw new Error('This list is empty.');
  return { file, ...read, layout: /^\s*[{[]/.test(read.text) ? undefined : understand(read.text) };
}

/** A sheet as CSV; undefined if the list is no workbook. @param {File} file @param {Uint8Array} bytes @param {Chosen} chosen */
async function workbook(file, bytes, chosen) {
  let [sheets, sheet] = [/** @type {string[]} */ ([]), chosen.sheet ?? ''];
  const text = await sheetText(bytes, async (options) => {
    if (file.size > WORKBOOK_BYTES_MAX) throw new Error(`it is larger than ${WORKBOOK_BYTES_MAX >> 20} MiB`);
    await import(WORKBOOKS);
    /** @type {typeof import('read-excel-file/browser').default<string>} */
    const readWorkbook = Reflect.get(globalThis, 'readXlsxFile');
    const all = await readWorkbook(file, options);
    sheets = all.map(({ sheet: name }) => name);
    sheet ||= all.find(({ data }) => data.length > 0)?.sheet ?? '';
    return all.filter(({ sheet: name }) => name === sheet);
  });
  return text === undefined ? undefined : { text, encoding: '', encodings: [], sheets, sheet };
}

/** The text in the encoding that is chosen, or else in the first one that fits it. @param {Uint8Array} bytes @param {Chosen} chosen */
function decoded(bytes, chosen) {
  const encodings = candidates(bytes, navigator.language);
  let doubt = /** @type {unknown} */ (undefined);
  const attempts = chosen.encoding ? [chosen.encoding] : [undefined, ...encodings.map(({ encoding }) => encoding)];
  for (const encoding of attempts) {
    try {
      return { ...decodedList(bytes, encoding), encodings: encoding ? encodings : [] };
    } catch (error) {
      doubt ??= error;
    }
  }
  throw doubt;
}
