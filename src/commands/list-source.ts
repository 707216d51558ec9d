import { createReadStream, fstatSync, openSync, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { encodingOf, markOf } from '../wire/lists/encoding-finder.js';
import type { ListSource } from '../wire/lists/parts.js';
import { RUN_AGAIN } from './remote-service.ts';

/** Bytes that are read at a time. */
const READ = 1024 ** 2;

const LINE_FEED = 0x0a;

/**
 * A list in a file, or in standard input for `-`, and its encoding, which is that of its beginning where it comes only once.
 *
 * @param path the file as the person calls it
 * @throws Error if there is no file of that name, or it is no list
 */
export async function listSource(path: string, file: string, isCsv: boolean, stop: AbortSignal) {
  const isStdin = path === '-';
  // Opening a pipe would wait for its writer.
  if (!isStdin && !statSync(file).isFile()) throw new Error(`${path} is not a file: name one, or - for standard input`);
  const fd = isStdin ? 0 : openSync(file, 'r');
  const before = fstatSync(fd);
  const own = { highWaterMark: READ, signal: stop };
  const stream: Readable = isStdin
    ? addAbortSignal(stop, process.stdin)
    : createReadStream('', { ...own, fd, autoClose: false });

  /** @throws Error at the end of a file that has changed since its beginning was read: its last record may be half of one */
  async function* octets(): AsyncGenerator<Buffer<ArrayBuffer>> {
    for await (const chunk of stream) yield chunk;
    const { size, mtimeMs } = fstatSync(fd);
    if (!before.isFile() || (size === before.size && mtimeMs === before.mtimeMs)) return;
    const sizes = `it had ${before.size} bytes, and now it has ${size}`;
    throw new Error(`${path} has changed while it was read (${sizes}), and was not imported to its end. ${RUN_AGAIN}`);
  }
  const list = streamSource(octets());
  const size = before.isFile() ? before.size : undefined;
  const close = () => stream.destroy();
  if (!isCsv) return { list, size, close, encoding: 'utf-8' as const };
  if (!isStdin) return { list, size, close, encoding: await encodingOf(createReadStream(file, own)) };
  const { bytes, isEnd } = await list.peek(READ);
  return { list, size, close, encoding: await encodingOf([bytes], isEnd) };
}

/** A list that comes once. Its last line gets an end: without it, names alone are refused as what curl -d leaves of a list. */
function streamSource(chunks: AsyncIterable<Buffer<ArrayBuffer>>): ListSource {
  const source = chunks[Symbol.asyncIterator]();
  let rest = Buffer.alloc(0);
  let hasEnded = false;
  let isUtf16: boolean | undefined;
  return {
    async peek(length) {
      const filled = [rest];
      let total = rest.length;
      for (let last = rest; !hasEnded && total < length; total += last.length) {
        const { value, done = false } = await source.next();
        hasEnded = done;
        isUtf16 ??= markOf(value ?? rest)?.[1].length === 2;
        const isLineEnd = isUtf16 || last.at(-1) === LINE_FEED;
        last = value ?? Buffer.from(isLineEnd ? [] : [LINE_FEED]);
        filled.push(last);
      }
      if (filled.length > 1) rest = Buffer.concat(filled, total);
      return { bytes: rest.subarray(0, length), isEnd: hasEnded && rest.length <= length };
    },
    skip(length) {
      rest = rest.subarray(length);
    },
  };
}
