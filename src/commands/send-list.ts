import type { Static } from 'typebox';
import type { ImportResult } from '../wire/schemas.ts';

type Result = Static<typeof ImportResult>;

/** What the service has read of a part of a list, and how many lines of the list are before it. */
export type SentPart = Result & { readonly bytes: Buffer; readonly linesBefore: number };

/**
 * Sends a part; resolves to undefined if it is too large, also for a slow connection.
 *
 * @throws Error, naming the line in it, if it is refused
 */
export type Send = (query: Readonly<Record<string, string>>, part: Buffer<ArrayBuffer>) => Promise<Result | undefined>;

/** Bytes of the first part: the default BODY_LIMIT. */
const PART = 1024 ** 2;

const LINE_FEED = Buffer.from('\n');

/** Sends a list in parts: what the service leaves of a part begins the next one. @throws Error, naming the line */
export async function* sendList(
  chunks: AsyncIterable<Buffer>,
  isCsv: boolean,
  query: Readonly<Record<string, string>>,
  send: Send,
): AsyncGenerator<SentPart> {
  const source = chunks[Symbol.asyncIterator]();
  let rest = Buffer.alloc(0);
  let hasEnded = false;
  let size = PART;
  // Of the part that is being sent: no record ends in the smaller one, and the service does not take the larger one.
  let [tooSmall, tooLarge] = [0, Number.POSITIVE_INFINITY];
  let linesBefore = 0;
  let next = query;

  /** Reads on until the condition, of how many bytes there are and the last of them, holds, or the list ends. */
  async function fill(isEnough: (length: number, last: Buffer) => boolean): Promise<void> {
    const filled: Buffer[] = [rest];
    let length = rest.length;
    for (let last: Buffer = rest; !hasEnded && !isEnough(length, last); length += last.length) {
      const { value, done = false } = await source.next();
      hasEnded = done;
      // A line of names alone is no list without its end, which curl -d removes; here all of the list has been read.
      last = value ?? (last.at(-1) === 0x0a ? Buffer.alloc(0) : LINE_FEED);
      filled.push(last);
    }
    if (filled.length > 1) rest = Buffer.concat(filled, length);
  }

  /** @returns whether there is anything to send */
  async function hasPart(): Promise<boolean> {
    await fill((length) => length >= size);
    return !hasEnded || rest.some((byte) => byte > 0x20);
  }

  if (!(await hasPart())) throw new Error('the list is empty');
  while (await hasPart()) {
    const part = rest.subarray(0, size);
    const more = !hasEnded || part.length < rest.length;
    let result = await send({ ...next, more: `${more}` }, part).catch(({ message }: Error) => {
      throw new Error(message.replace(/^line (\d+)/, (_, line) => `line ${linesBefore + Number(line)}`));
    });
    if (result === undefined) {
      tooLarge = part.length;
      // A connection can become slower.
      if (tooLarge <= tooSmall) tooSmall = 0;
    } else if (result.consumed === 0) tooSmall = part.length;
    const isFound = tooSmall > 0 && tooLarge === tooSmall + 1;
    if (result === undefined || (result.consumed === 0 && !isFound)) {
      const between = Math.floor((tooSmall + tooLarge) / 2);
      size = isFound ? tooSmall : Math.min(between, 2 * tooSmall || between);
      if (size === 0) throw new Error(`line ${linesBefore + 1}: the service takes no part of the list, however small`);
      continue;
    }
    tooSmall = 0;
    const id = next.idsFrom === undefined ? undefined : BigInt(next.idsFrom);
    if (result.consumed === 0) {
      const message = 'the record is larger than the service takes';
      if (isCsv) throw new Error(`line ${linesBefore + 1}: ${message}: is a quote never closed?`);
      await fill((_, last) => last.includes(LINE_FEED));
      const refused = [{ line: 1, lastLine: 1, ...(id !== undefined && { id }), error: 40013, message }];
      result = { ...result, refused, records: 1, consumed: rest.indexOf(LINE_FEED) + 1 };
    }
    const { columns, separator, records, consumed } = result;
    const bytes = rest.subarray(0, consumed);
    yield { ...result, bytes, linesBefore };
    next = { ...next, continued: 'true', ...(columns && separator && { columns: columns.join(), separator }) };
    if (id !== undefined) next = { ...next, idsFrom: `${id + BigInt(records)}` };
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) linesBefore++;
    rest = rest.subarray(consumed);
  }
}
