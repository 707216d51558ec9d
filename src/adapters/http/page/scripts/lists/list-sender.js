/** @import { ImportResult, ListSender, Reading } from './types.d.ts' */
import { isDefinite, send } from '../api.js';
import { bytesOf } from './list-file.js';

/** Octets of the first part: the default BODY_LIMIT. */
const PART = 1024 ** 2;

/** A slow connection carries a part of so many octets in time. */
const SMALL = 16 * 1_024;

/** Sends a list in parts: what the service leaves of a part begins the next one. @returns {ListSender} */
export function listSender(/** @type {Reading} */ { list, query, idsFrom: nextId, begin }, size = PART) {
  const [{ file }, type] = [list, list.isCsv ? 'text/csv' : 'application/x-ndjson'];
  let { octets: at, lines: linesBefore } = begin;
  // Of the part that is being sent: no record ends in the smaller one, and the service does not take the larger one.
  let [tooSmall, tooLarge] = [0, Number.POSITIVE_INFINITY];

  /** @type {ListSender['next']} */
  async function next(request) {
    const body = await bytesOf(file, at, size);
    const more = at + body.length < file.size;
    if (!more && body.every((byte) => byte <= 0x20)) return undefined;
    const place = { continued: `${at > 0}`, more: `${more}` };
    const all = { ...query, ...(nextId !== undefined && { idsFrom: `${nextId}` }), ...place };
    const isTooSlow = (/** @type {number} */ status) => status === 408 && body.length > SMALL;
    const ends = (/** @type {number} */ status) => isDefinite(status) || isTooSlow(status);
    const sent = send('POST', `import?${new URLSearchParams(all)}`, { ...request, body, type, has: 'consumed', ends });
    const response = await sent.catch((/** @type {Error} */ error) => {
      if ([413, 40013, 408, 40800, 0].includes(Number(error.cause))) return undefined;
      error.message = error.message.replace(/\bline (\d+)/, (_, line) => `line ${linesBefore + Number(line)}`);
      throw error;
    });
    const result = /** @type {ImportResult | undefined} */ (response?.body);
    if (result && result.consumed > 0) return done(result, body);
    if (result === undefined) {
      tooLarge = body.length;
      // A connection can become slower.
      if (tooLarge <= tooSmall) tooSmall = 0;
    } else tooSmall = body.length;
    const isFound = tooSmall > 0 && tooLarge === tooSmall + 1;
    if (result && isFound) return refuse(result);
    const between = Math.floor((tooSmall + tooLarge) / 2);
    size = isFound ? tooSmall : Math.min(between, 2 * tooSmall || between);
    if (size === 0) throw new Error(`Line ${linesBefore + 1}: the service takes no part of the list, however small.`);
    return next(request);
  }

  /** Goes on behind a line of JSON that is larger than the service takes; a record of CSV has no certain end. */
  async function refuse(/** @type {ImportResult} */ result) {
    if (list.isCsv) {
      throw new Error(
        `Line ${linesBefore + 1} begins a record that is larger than the service takes: is a quote never closed? Correct the list, and import it again.`,
      );
    }
    let record = await bytesOf(file, at, 2 * size);
    while (!record.includes(0x0a) && at + record.length < file.size) {
      record = await bytesOf(file, at, 2 * record.length);
    }
    const message = 'the record is larger than the service takes';
    const refused = [{ line: 1, lastLine: 1, ...(nextId !== undefined && { id: nextId }), message }];
    const consumed = record.indexOf(0x0a) + 1 || record.length;
    return done({ ...result, refused, records: 1, consumed }, record);
  }

  function done(/** @type {ImportResult} */ result, /** @type {Uint8Array<ArrayBuffer>} */ body) {
    const starts = [0];
    for (let n = 0; n < result.consumed; n++) if (body[n] === 0x0a) starts.push(n + 1);
    const lines = (/** @type {number} */ line, /** @type {number} */ lastLine) =>
      body.slice(starts[line - 1], starts[lastLine] ?? result.consumed);
    const part = { ...result, linesBefore, bytesOf: lines };
    tooSmall = 0;
    at += result.consumed;
    linesBefore += starts.length - 1;
    if (nextId !== undefined) nextId += BigInt(result.records);
    return part;
  }
  return { next, progress: () => at / file.size };
}
