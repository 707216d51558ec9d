import type { Static } from 'typebox';
import { MOST_RECORDS } from '../wire/lists/plant-list.ts';
import type { ImportResult } from '../wire/schemas.ts';

export type Result = Static<typeof ImportResult>;

/** What the service has read of a part of a list, and how many lines of the list are before it. */
export type SentPart = Result & { readonly bytes: Buffer; readonly linesBefore: number };

export type Query = Readonly<Record<string, string>>;

/** A response whose status is 200, or one that refuses the part. */
export type Response = { readonly result: Result } | { readonly isTooLarge: boolean; readonly message: string };

/** Bytes of the first part (the default BODY_LIMIT), and those between two sizes of which only one is tried. */
const [PART, PRECISION] = [1024 ** 2, 1_024];

const TOO_LARGE = 'the record is larger than the service takes';
const NONE = { created: 0, changed: 0, unchanged: 0, ignored: [], records: 1 };

/**
 * Sends a list in parts: what the service leaves of a part begins the next one.
 *
 * @throws Error, naming the line, if the service refuses the list
 */
export async function* sendList(
  chunks: AsyncIterator<Buffer>,
  isCsv: boolean,
  query: Query,
  send: (query: Query, part: Buffer<ArrayBuffer>) => Promise<Response>,
): AsyncGenerator<SentPart> {
  let [rest, layout, nextId] = [Buffer.alloc(0), {}, BigInt(query.idsFrom ?? 0)];
  let [hasEnded, isTail, isEmpty] = [false, false, true];
  let [size, refused, linesBefore] = [PART, Number.POSITIVE_INFINITY, 0];

  async function fill(length: number): Promise<void> {
    const parts = [rest];
    for (let total = rest.length; total < length && !hasEnded; total += parts.at(-1)?.length ?? 0) {
      const { value = Buffer.alloc(0), done = false } = await chunks.next();
      hasEnded = done;
      parts.push(value);
    }
    rest = Buffer.concat(parts);
  }

  function* taken(result: Result): Iterable<SentPart> {
    const bytes = rest.subarray(0, result.consumed);
    yield { ...result, bytes, linesBefore };
    const { columns, separator } = result;
    if (columns !== undefined) layout = { columns: columns.join(), separator };
    isEmpty &&= result.records === 0 && columns === undefined;
    nextId += BigInt(result.records);
    for (const byte of bytes) if (byte === 0x0a) linesBefore++;
    rest = rest.subarray(bytes.length);
  }

  for (await fill(size); rest.length > 0; await fill(size)) {
    const part = rest.subarray(0, size);
    const isRest = hasEnded && part.length === rest.length;
    const ids = query.idsFrom && { idsFrom: `${nextId}` };
    const response = await send({ ...query, ...layout, ...ids, more: `${!isTail}` }, part);
    if (!('result' in response)) {
      const inList = (_: string, line: string) => `line ${linesBefore + Number(line)}`;
      if (!response.isTooLarge || part.length === 1) throw new Error(response.message.replace(/^line (\d+)/, inList));
      refused = part.length;
      size = Math.floor(refused / 2);
    } else if (response.result.consumed > 0) {
      isTail = isRest && response.result.records < MOST_RECORDS;
      yield* taken(response.result);
    } else if (isRest) isTail = true;
    else if (refused - size > PRECISION) size = Math.min(2 * size, Math.floor((size + refused) / 2));
    else if (isCsv) throw new Error(`line ${linesBefore + 1}: ${TOO_LARGE}`);
    else {
      while (!rest.includes('\n') && !hasEnded) await fill(2 * rest.length);
      const refusal = { line: 1, lastLine: 1, ...ids, error: 40013, message: TOO_LARGE };
      yield* taken({ ...NONE, refused: [refusal], consumed: rest.indexOf('\n') + 1 || rest.length });
    }
  }
  if (isEmpty) throw new Error('the list is empty');
}
