/** @import { Layout } from '../../../src/lists/columns.js' */
import { detectLayout } from '../../../src/lists/columns.js';
import { decodeList, fittingEncodings } from '../../../src/lists/encodings.js';
import { sheetText } from '../../../src/lists/workbooks.js';

/**
 * A list that was dropped or chosen. `variants` are what it may be: the sheets of a workbook, or a text in several encodings,
 * if its own is not certain. `variant` is the value of the one that was read, `layout` is that of CSV.
 *
 * @typedef {{ file: File, text: string, encoding: string, variants: { text: string, value: string }[], variant: string,
 *   layout: Layout | undefined }} List
 */
/**
 * How a list is to be read and stored. `idsFrom` is the id of the first record of a list without ids, and `skipsNames` says
 * that plants whose names are stored are left out.
 *
 * @typedef {{ list: List, layout: Layout | undefined, existing: string, idsFrom: bigint | undefined,
 *   skipsNames: boolean }} Reading
 */

/** The library for workbooks, as the service serves it; it is loaded with the first one. */
const WORKBOOKS = '../../../read-excel-file.js';

/** Bytes of the largest list and workbook that the page reads: Chromium then has 330 and 400 MB of memory for it. */
const [BYTES_MAX, WORKBOOK_BYTES_MAX] = [32 * 1024 ** 2, 4 * 1024 ** 2];

/**
 * Reads the variant of a list that is chosen, or else the first one that it may be.
 *
 * @returns {Promise<List>}
 * @throws Error in words if it is no list
 */
export async function readList(/** @type {File} */ file, /** @type {string} */ variant) {
  if (file.size > BYTES_MAX)
    throw new Error(`This list is larger than ${BYTES_MAX >> 20} MiB: split it, or import it with npm run import.`);
  const bytes = await file.bytes().catch(() => {
    throw new Error('This list cannot be read: it was moved or changed, or it is a folder. Choose it again.');
  });
  const source = (await workbook(file, bytes, variant)) ?? decoded(bytes, variant);
  if (source.text.trim() === '') throw new Error('This list is empty.');
  return { file, ...source, layout: /^\s*[{[]/.test(source.text) ? undefined : detectLayout(source.text) };
}

/** A sheet as CSV; undefined if the list is no workbook. @param {File} file @param {Uint8Array} bytes @param {string} variant */
async function workbook(file, bytes, variant) {
  let variants = /** @type {List['variants']} */ ([]);
  const text = await sheetText(bytes, async (options) => {
    if (file.size > WORKBOOK_BYTES_MAX) throw new Error(`it is larger than ${WORKBOOK_BYTES_MAX >> 20} MiB`);
    await import(WORKBOOKS);
    /** @type {typeof import('read-excel-file/browser').default<string>} */
    const readWorkbook = Reflect.get(globalThis, 'readXlsxFile');
    const sheets = await readWorkbook(file, options);
    variants = sheets.map(({ sheet }) => ({ text: sheet, value: sheet }));
    variant ||= sheets.find(({ data }) => data.length > 0)?.sheet ?? '';
    return sheets.filter(({ sheet }) => sheet === variant);
  });
  return text === undefined ? undefined : { text, encoding: '', variants, variant };
}

/** The text in the encoding that is chosen, or else in the first one that fits it. @param {Uint8Array} bytes @param {string} variant */
function decoded(bytes, variant) {
  const encodings = fittingEncodings(bytes, navigator.language);
  const variants = encodings.map(({ sample, encoding }) => ({ text: `${sample} (${encoding})`, value: encoding }));
  let doubt = /** @type {unknown} */ (undefined);
  for (const encoding of variant ? [variant] : [undefined, ...encodings.map(({ encoding }) => encoding)]) {
    try {
      const source = decodeList(bytes, encoding);
      return { ...source, variants: encoding ? variants : [], variant: source.encoding };
    } catch (error) {
      doubt ??= error;
    }
  }
  throw doubt;
}
