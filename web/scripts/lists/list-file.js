/** @import { Request } from '../types.d.ts' */
/** @import { List } from './types.d.ts' */
import { encodingOf, markOf } from '../../../src/wire/lists/encoding-finder.js';
import { utf8Of } from '../../../src/wire/lists/parts.js';

/** Octets of a list that are read at a time. */
const SLICE = 1024 ** 2;

/** @returns {Promise<Uint8Array<ArrayBuffer>>} a slice, since the whole may be larger than the memory */
export async function bytesOf(/** @type {File} */ file, /** @type {number} */ from, /** @type {number} */ length) {
  const bytes = await file
    .slice(from, from + length)
    .arrayBuffer()
    .catch(() => undefined);
  if (bytes) return new Uint8Array(bytes);
  throw new Error('This list cannot be read: it was moved or changed, or it is a folder. Choose it again.');
}

async function* slicesOf(/** @type {File} */ file, /** @type {AbortSignal | undefined} */ signal) {
  for (let at = 0; at < file.size; at += SLICE) {
    signal?.throwIfAborted();
    yield await bytesOf(file, at, SLICE);
  }
}

/**
 * Reads what a list is: of CSV its encoding, which takes all of it. The service reads the rest.
 *
 * @throws Error in words if it is no list
 * @returns {Promise<List>}
 */
export async function readBeginning(/** @type {File} */ file, /** @type {Request} */ { signal }) {
  const bytes = await bytesOf(file, 0, SLICE);
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new Error('This list is empty.');
  // Also where the first record of lines of JSON is none.
  const isCsv = !/^\s*[{[]/.test(text) && !/\.(ndjson|jsonl)$/i.test(file.name);
  const encoding = isCsv ? await encodingOf(slicesOf(file, signal)) : 'utf-8';
  const [before = ''] = /^\s*("?sep=."?\s*\n\s*)?/.exec(new TextDecoder().decode(utf8Of(bytes, encoding))) ?? [];
  return {
    file,
    isCsv,
    encoding,
    hasMark: markOf(bytes) !== undefined,
    hasIds: /"id"\s*:/.test(text),
    firstLine: before.split('\n').length,
  };
}
