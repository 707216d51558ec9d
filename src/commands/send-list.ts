import type { Static } from 'typebox';
import type { ImportResult } from '../wire/schemas.ts';

type Result = Static<typeof ImportResult>;

/** What the service has read of a part of a list, and how many lines of the list are before it. */
export type SentPart = Result & { readonly bytes: Buffer; readonly linesBefore: number };

/** Sends a part; resolves to undefined if it is too large. @throws Error, naming the line in it, if it is refused */
export type Send = (query: Readonly<Record<string, string>>, part: Buffer<ArrayBuffer>) => Promise<Result | undefined>;

/** Bytes of the first part: the default BODY_LIMIT. */
const PART = 1024 ** 2;

/** Bytes between a part that is too small for its first record and one that is too large, below which no other is tried. */
const PRECISION = 1_024;

/** Sends a list in parts: what the service leaves of a part begins the next one. @throws Error, naming the line */
export async function* sendList(
  chunks: AsyncIterable<Buffer>,
  isCsv: boolean,
  query: Readonly<Record<string, string>>,
  send: Send,
): AsyncGenerator<SentPart> {
  const next = chunks[Symbol.asyncIterator]();
  let [rest, hasEnded, layout, nextId] = [Buffer.alloc(0), false, {}, BigInt(query.idsFrom ?? 0)];
  let [size, tooLarge, linesBefore] = [PART, Number.POSITIVE_INFINITY, 0];

  /** @returns whether there is anything to send */
  async function fill(length: number): Promise<boolean> {
    while (rest.length < length && !hasEnded) {
      const { value = Buffer.alloc(0), done = false } = await next.next();
      hasEnded = done;
      rest = Buffer.concat([rest, value]);
    }
    return !hasEnded || rest.some((byte) => byte > 0x20);
  }

  if (!(await fill(size))) throw new Error('the list is empty');
  while (await fill(size)) {
    const part = rest.subarray(0, size);
    const ids = query.idsFrom && { idsFrom: `${nextId}` };
    const more = `${!hasEnded || part.length < rest.length}`;
    let result = await send({ ...query, ...layout, ...ids, more }, part).catch(({ message }: Error) => {
      throw new Error(message.replace(/^line (\d+)/, (_, line) => `line ${linesBefore + Number(line)}`));
    });
    if (result === undefined) {
      [tooLarge, size] = [part.length, Math.floor(part.length / 2)];
      continue;
    }
    if (result.consumed === 0) {
      if (tooLarge - size > PRECISION) {
        size = Math.min(2 * size, Math.floor((size + tooLarge) / 2));
        continue;
      }
      const message = 'the record is larger than the service takes';
      if (isCsv) throw new Error(`line ${linesBefore + 1}: ${message}`);
      while (!rest.includes('\n') && !hasEnded) await fill(2 * rest.length);
      const refused = [{ line: 1, lastLine: 1, ...(ids && { id: nextId }), error: 40013, message }];
      result = { ...result, refused, records: 1, consumed: rest.indexOf('\n') + 1 || rest.length };
    }
    const bytes = rest.subarray(0, result.consumed);
    yield { ...result, bytes, linesBefore };
    if (result.columns) layout = { columns: result.columns.join(), separator: result.separator };
    nextId += BigInt(result.records);
    for (const byte of bytes) if (byte === 0x0a) linesBefore++;
    rest = rest.subarray(bytes.length);
  }
}
