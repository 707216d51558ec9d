/** @import { List, Layout, Reading } from './types.d.ts' */
import { rolesIn } from '../../../src/lists/column-names.js';
import { findLayout } from '../../../src/lists/columns.js';
import { candidates, decodedList } from '../../../src/lists/encodings.js';
import { csvRecords, jsonRecords } from '../../../src/lists/records.js';

/** Which encoding lists without a byte order mark have most often, by the language of the browser; windows-1252 in others. */
const ENCODINGS = new Map(
  Object.entries({
    'windows-1250': 'pl cs hu sk hr sl ro',
    'windows-1251': 'ru uk bg sr be',
    gb18030: 'zh',
    shift_jis: 'ja',
  }).flatMap(([encoding, languages]) => languages.split(' ').map((language) => [language, encoding])),
);

/**
 * Reads a list in the encoding that is chosen, or else in one that fits it.
 *
 * @returns {Promise<List>}
 * @throws Error in words if it is no list
 */
export async function readList(/** @type {File} */ file, /** @type {string | undefined} */ chosen) {
  const bytes = new Uint8Array(
    await file.arrayBuffer().catch(() => {
      throw new Error('This list cannot be read: it was moved or changed, or it is a folder. Choose it again.');
    }),
  );
  const { text, encoding, fitting } = decoded(bytes, chosen);
  if (text.trim() === '') throw new Error('This list is empty.');
  return {
    file,
    text,
    encoding,
    fitting,
    isJson: /^\s*[{[]/.test(text),
    hasIds: /"id"\s*:/.test(text.slice(0, 100_000)),
  };
}

function decoded(/** @type {Uint8Array} */ bytes, /** @type {string | undefined} */ chosen) {
  try {
    return { ...decodedList(bytes, chosen), fitting: chosen === undefined ? [] : candidates(bytes) };
  } catch (error) {
    const fitting = candidates(bytes);
    const own = ENCODINGS.get(navigator.language.slice(0, 2));
    const { encoding } = fitting.find((one) => one.encoding === own) ?? fitting[0] ?? {};
    if (chosen !== undefined || encoding === undefined || /** @type {Error} */ (error).cause !== 'encoding')
      throw error;
    return { ...decodedList(bytes, encoding), fitting };
  }
}

/** What the columns of CSV are, or what is offered if that is not certain, and what it is that is not. @returns {Layout} */
export function layoutOf(/** @type {string} */ text) {
  const any = { columns: 'name=1', isNumbered: true };
  let doubt = '';
  for (const said of [{}, { isNumbered: true }, any, { ...any, header: 0 }]) {
    try {
      const layout = findLayout(text, said);
      if (!('columns' in said)) return { ...layout, doubt: '' };
      // What is likely, for a person who sees what is not certain.
      const {
        id: [id = -1],
        name,
        tag: [tag = -1],
      } = rolesIn({ cells: layout.names });
      return { ...layout, id, name: name.slice(0, 1), tag, doubt };
    } catch (error) {
      const { message, cause } = /** @type {Error} */ (error);
      if (cause === undefined) throw error;
      doubt ||= cause === 'ids-from' ? '' : message;
    }
  }
  throw new Error(doubt);
}

/** The records of a list as it is to be read. */
export function recordsOf(/** @type {Reading} */ { list, layout, idsFrom }) {
  return layout ? csvRecords(list.text, layout, idsFrom) : jsonRecords(list.text, idsFrom);
}
