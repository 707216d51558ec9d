import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { decodedList, MAX_BYTES } from '../lists/encodings.js';
import { sheetText } from '../lists/workbooks.js';
import { RUN_AGAIN } from './remote-service.ts';

/**
 * Reads a whole list.
 *
 * @param path as the person calls the file, or - for standard input
 * @returns also a function that throws once the file has changed: the last record that was read may be half of one
 */
export async function readList(path: string, file: string, stop: AbortSignal) {
  const state = () => (path === '-' ? undefined : statSync(file));
  const before = state();
  // Opening a pipe would wait for its writer.
  if (before?.isFile() === false) throw new Error(`${path} is not a file: name one, or - for standard input`);
  const chunks: Buffer[] = [];
  try {
    let size = 0;
    const stream = before ? createReadStream(file, { signal: stop }) : addAbortSignal(stop, process.stdin);
    for await (const chunk of stream) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) break;
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }

  function refuseChanged(): void {
    const now = state();
    if (now?.size === before?.size && now?.mtimeMs === before?.mtimeMs) return;
    throw new Error(`${path} has changed since it was read, and was not imported to its end. ${RUN_AGAIN}`);
  }
  return { bytes: Buffer.concat(chunks), refuseChanged };
}

/** What a person says about a list. */
interface Said {
  readonly encoding?: string | undefined;
  readonly sheet?: string | undefined;
}

/** The text of a list, and what it is in. @throws Error of the reader */
export async function textOf(bytes: Buffer, { encoding, sheet }: Said) {
  // The library is loaded with the first workbook.
  const library = () => import('read-excel-file/node');
  const text = await sheetText(bytes, async (options) => (await library()).default(bytes, options), sheet);
  return text === undefined ? decodedList(bytes, encoding) : { text, encoding: '.xlsx' };
}
