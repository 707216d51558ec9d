import { foldSpaces } from './records.js';

/* The requests that the records of a list are sent in, and what becomes of them. */

/** @import { ListRecord, Plant } from './records.js' */
/** `plants` are sent in one request, `problems` are between them, and `size` is the length of all in the text of the list. */
/** @typedef {{ plants: ListRecord[], problems: ListRecord[], lines: string, leftOut: number, size: number }} Batch */
/** @typedef {{ created: number, changed: number, unchanged: number, ignored: string[], changes?: { before: Plant, after: Plant }[] }} Counts */
/** What the service says of a request. @typedef {Counts & { refused: { line: number, id?: bigint, error: number, message: string }[] }} Result */
/** @typedef {ListRecord & { id?: bigint, error?: number }} Refused */
/** A batch, and what became of it. @typedef {Batch & Counts & { refused: Refused[] }} Outcome */

/** Records and characters of a request: few enough for slow connections, BODY_LIMIT and proxies. */
const [REQUEST_RECORDS_MAX, REQUEST_LENGTH_MAX] = [1_000, 250_000];

/**
 * Puts records into batches.
 *
 * @param {Iterable<ListRecord>} records
 * @param {string[]} [storedNames] plants with these names are left out, and those whose name comes again in the list
 * @returns {Generator<Batch, undefined>}
 */
export function* batchesOf(records, storedNames) {
  const names = new Set(storedNames?.map(foldSpaces));
  const empty = () => ({ plants: [], problems: [], lines: '', leftOut: 0, size: 0 });
  let batch = /** @type {Batch} */ (empty());
  for (const record of records) {
    const name = storedNames && foldSpaces(record.name ?? '');
    batch.size += record.raw.length;
    if (record.line === undefined) batch.problems.push(record);
    else if (name !== undefined && names.has(name)) batch.leftOut++;
    else {
      if (name !== undefined) names.add(name);
      batch.plants.push(record);
      batch.lines += `${record.line}\n`;
    }
    const count = batch.plants.length + batch.problems.length;
    if (count < REQUEST_RECORDS_MAX && batch.lines.length < REQUEST_LENGTH_MAX) continue;
    yield batch;
    batch = empty();
  }
  if (batch.size > 0) yield batch;
}

/**
 * Says what became of a batch. Records that are no plants are refused, too, in the order of the list.
 *
 * @param {Batch} batch
 * @param {Result | undefined} result undefined if nothing was sent
 * @returns {Outcome}
 */
export function outcomeOf(batch, result) {
  const { plants, problems } = batch;
  const { refused = [], ...counts } = result ?? { created: 0, changed: 0, unchanged: 0, ignored: [] };
  const refusedRecords = refused.flatMap(({ line, message, ...refusal }) => {
    const record = plants[line - 1];
    return record ? [{ ...record, ...refusal, problem: message }] : [];
  });
  return { ...batch, ...counts, refused: [...problems, ...refusedRecords].sort((a, b) => a.row - b.row) };
}
