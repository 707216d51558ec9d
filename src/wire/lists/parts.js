/* Cuts a list into parts that the service takes. The command imports this file and the page serves it: it imports nothing. */

/** @import { Encoding } from './encoding-finder.js' */

/** Octets in UTF-8 that were in an encoding. @type {(bytes: Uint8Array<ArrayBuffer>, encoding: Encoding) => Uint8Array<ArrayBuffer>} */
export function utf8Of(bytes, encoding) {
  if (encoding === 'utf-8') return bytes;
  return new TextEncoder().encode(new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes));
}

/** Octets of the first part: the default BODY_LIMIT. */
const PART = 1024 ** 2;

/** A slow connection carries a part of so many octets in time. */
export const SMALL_PART = 16 * 1_024;

/**
 * Where a list is read from: `peek` resolves to its next octets, so many unless it ends before, and `skip` leaves some out.
 *
 * @typedef {object} ListSource
 * @property {(length: number) => Promise<{ bytes: Uint8Array<ArrayBuffer>, isEnd: boolean }>} peek
 * @property {(length: number) => void} skip
 */

/**
 * What a client uses of a response of the import.
 *
 * @typedef {object} PartResult
 * @property {{ line: number, lastLine: number, unnumbered?: boolean, error: number, message: string }[]} refused
 * @property {string[]} [columns]
 * @property {string} [separator]
 * @property {number} records
 * @property {number} consumed
 */

/**
 * A part that the service has read: its lines in UTF-8, with their ends, and how many lines of the list are before it.
 *
 * @template Result
 * @typedef {Result & { lines: Uint8Array<ArrayBuffer>[], linesBefore: number }} SentPart
 */

/**
 * Sends a list in parts: what the service leaves of a part begins the next one.
 *
 * @template {PartResult} Result
 * @template {unknown[]} Context of what the caller hands through
 * @param {ListSource} source
 * @param {object} list
 * @param {boolean} list.isCsv
 * @param {Encoding} list.encoding
 * @param {Record<string, string>} list.query
 * @param {(query: Record<string, string>, body: Uint8Array<ArrayBuffer>, ...context: Context) => Promise<Result | undefined>} send
 * resolves to undefined if the part is too large, also for a slow connection; an error may begin with a line of the part
 * @param {number} size octets of the first part
 * @returns a function that sends the next part, after a failure the same one again, which is safe; it resolves to undefined
 * at the end, and throws an Error that names the line in the list
 */
export function listParts(source, { isCsv, encoding, query }, send, size = PART) {
  // Of the part that is being sent: no record ends in the smaller one, and the service does not take the larger one.
  let [tooSmall, tooLarge] = [0, Number.POSITIVE_INFINITY];
  let linesBefore = 0;
  let next = isCsv ? { ...query, encoding } : query;

  /** @returns {Promise<SentPart<Result> | undefined>} */
  return async function sendNext(/** @type {Context} */ ...context) {
    for (;;) {
      const { bytes, isEnd } = await source.peek(size);
      if (isEnd && utf8Of(bytes, encoding).every((octet) => octet <= 0x20)) return undefined;
      const result = await send({ ...next, more: `${!isEnd}` }, bytes, ...context).catch(
        (/** @type {Error} */ error) => {
          error.message = error.message.replace(/\bline (\d+)/, (_, line) => `line ${linesBefore + Number(line)}`);
          throw error;
        },
      );
      if (result && result.consumed > 0) return done(result, bytes);
      if (result === undefined) {
        tooLarge = bytes.length;
        // A connection can become slower.
        if (tooLarge <= tooSmall) tooSmall = 0;
      } else tooSmall = bytes.length;
      const isFound = tooSmall > 0 && tooLarge === tooSmall + 1;
      if (result && isFound) return refuse(result);
      const between = Math.floor((tooSmall + tooLarge) / 2);
      size = isFound ? tooSmall : Math.min(between, 2 * tooSmall || between);
      if (size === 0) throw new Error(`line ${linesBefore + 1}: the service takes no part of the list, however small`);
    }
  };

  /** Goes on behind a line of JSON that is larger than the service takes; a record of CSV has no certain end. */
  async function refuse(/** @type {Result} */ result) {
    const message = 'the record is larger than the service takes';
    if (isCsv) throw new Error(`line ${linesBefore + 1}: ${message}: is a quote never closed?`);
    let record = await source.peek(2 * size);
    while (!record.bytes.includes(0x0a) && !record.isEnd) record = await source.peek(2 * record.bytes.length);
    const refused = [{ line: 1, lastLine: 1, error: 40013, message }];
    const consumed = record.bytes.indexOf(0x0a) + 1 || record.bytes.length;
    return done({ ...result, refused, records: 1, consumed }, record.bytes);
  }

  function done(/** @type {Result} */ result, /** @type {Uint8Array<ArrayBuffer>} */ bytes) {
    const { columns, separator, records, consumed } = result;
    const part = { ...result, lines: linesIn(utf8Of(bytes.subarray(0, consumed), encoding)), linesBefore };
    tooSmall = 0;
    linesBefore += part.lines.length;
    const { header: _, ...others } = next;
    next = {
      ...(columns ? others : next),
      continued: 'true',
      ...(columns && separator && { columns: columns.join(), separator }),
    };
    if (next.idsFrom !== undefined) next.idsFrom = `${BigInt(next.idsFrom) + BigInt(records)}`;
    source.skip(consumed);
    return part;
  }
}

function linesIn(/** @type {Uint8Array<ArrayBuffer>} */ bytes) {
  const lines = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = bytes.indexOf(0x0a, start) + 1 || bytes.length;
    lines.push(bytes.subarray(start, end));
  }
  return lines;
}

const MARK = [0xef, 0xbb, 0xbf];

/**
 * A record that was refused, as it was: without a number that the import has given it, which may be the id of any plant by
 * the time it is corrected. The byte order mark of the list is no part of it: what is written before it would make it one of
 * its texts.
 *
 * @param {{ lines: Uint8Array<ArrayBuffer>[], linesBefore: number }} part
 * @param {{ line: number, lastLine: number }} refusal
 */
export function refusedRecord({ lines, linesBefore }, { line, lastLine }) {
  const record = lines.slice(line - 1, lastLine);
  const [first] = linesBefore + line === 1 ? record : [];
  if (first && MARK.every((octet, n) => first[n] === octet)) record[0] = first.subarray(MARK.length);
  if (record.at(-1)?.at(-1) !== 0x0a) record.push(Uint8Array.of(0x0a));
  return record;
}
