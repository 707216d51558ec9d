/** One line of a list, without its line feed. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly bytes: Buffer;
  /** It was larger than MAX_LINE, and `bytes` is only its beginning. */
  readonly isCut: boolean;
}

/** In bytes; as much as the service takes of a request's body by default. */
export const MAX_LINE = 1024 ** 2;

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Splits bytes into lines, all that a chunk ends at once, since a promise for each would cost as much as parsing it. A
 * byte order mark at the start is left out. It holds no more than one chunk and one line.
 *
 * @throws Error if the bytes begin as UTF-16 does
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let number = 0;
  /** The beginning of the line that the last chunk did not end, and how long that line is so far. */
  let parts: Buffer[] = [];
  let length = 0;

  function hold(part: Buffer): void {
    if (length <= MAX_LINE) parts.push(part);
    length += part.length;
  }

  function endLine(): Line {
    const [first = Buffer.alloc(0)] = parts;
    const whole = parts.length > 1 ? Buffer.concat(parts) : first;
    const isCut = length > MAX_LINE;
    parts = [];
    length = 0;
    number++;
    if (number === 1) requireUtf8(whole);
    const isMarked = number === 1 && whole.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    const start = isMarked ? BYTE_ORDER_MARK.length : 0;
    return { number, bytes: whole.subarray(start, isCut ? MAX_LINE : whole.length), isCut };
  }

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      hold(chunk.subarray(start, end));
      lines.push(endLine());
      start = end + 1;
    }
    if (start < chunk.length) hold(chunk.subarray(start));
    yield lines;
  }
  if (length > 0) yield [endLine()];
}

/** UTF-16 begins with a byte order mark, or with one zero byte of two: lists begin with a character of ASCII. */
function requireUtf8(firstLine: Buffer): void {
  const start = firstLine.subarray(0, 2);
  if (start.includes(0) || ['fffe', 'feff'].includes(start.toString('hex'))) {
    throw new Error('the list must be in UTF-8: it seems to be in UTF-16');
  }
}
