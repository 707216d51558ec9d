/** A record of a list: one line without its line feed, or several lines that a quoted cell of CSV joins. */
export interface Line {
  /** Its first and its last line, from 1. */
  readonly number: number;
  readonly lastNumber: number;
  readonly bytes: Buffer;
  /** Why it cannot be read; `bytes` may then be only its beginning. */
  readonly problem: string | undefined;
}

/** Bytes; the service's default BODY_LIMIT. */
export const MAX_LINE = 1024 ** 2;

const TOO_LONG = `the line is larger than ${MAX_LINE} bytes`;

/** What to do about a list that another format of Excel has spoiled. */
export const IN_EXCEL = 'in Excel, save the list as "CSV UTF-8"';

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Splits bytes into lines. It yields all lines that end in a chunk together, since a promise for each would cost as
 * much as parsing it. A leading byte order mark is dropped. It buffers at most one chunk and one line.
 *
 * @throws Error if the bytes seem to be UTF-16
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let number = 0;
  /** The beginning of the current line, cut at MAX_LINE, and its length so far. */
  let parts: Buffer[] = [];
  let length = 0;

  function append(part: Buffer): void {
    if (length <= MAX_LINE) parts.push(part);
    length += part.length;
  }

  function endLine(): Line {
    const [first = Buffer.alloc(0)] = parts;
    let bytes = parts.length > 1 ? Buffer.concat(parts) : first;
    number++;
    if (number === 1) {
      requireUtf8(bytes);
      if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
        bytes = bytes.subarray(BYTE_ORDER_MARK.length);
      }
    }
    const problem = length > MAX_LINE ? TOO_LONG : undefined;
    parts = [];
    length = 0;
    return { number, lastNumber: number, bytes: bytes.subarray(0, MAX_LINE), problem };
  }

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      append(chunk.subarray(start, end));
      lines.push(endLine());
      start = end + 1;
    }
    if (start < chunk.length) append(chunk.subarray(start));
    yield lines;
  }
  if (length > 0) yield [endLine()];
}

/** Lists begin with an ASCII character, so UTF-16 shows by its byte order mark or a zero among the first two bytes. */
function requireUtf8(firstLine: Buffer): void {
  const start = firstLine.subarray(0, 2);
  if (start.includes(0) || ['fffe', 'feff'].includes(start.toString('hex'))) {
    throw new Error(`the list must be in UTF-8, but it is in UTF-16; ${IN_EXCEL}`);
  }
}

/** Whether there is nothing but white space. */
export function isBlank({ bytes }: Line): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
