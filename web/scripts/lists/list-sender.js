/** @import { Batch, Outcome, Result } from '../../../src/lists/batches.js' */
/** @import { Request } from '../api.js' */
/** @import { Reading } from './list-reader.js' */
import { batchesOf, outcomeOf } from '../../../src/lists/batches.js';
import { folded, recordsOf } from '../../../src/lists/records.js';
import { send } from '../api.js';

/** What became of a batch, and what it had. @typedef {Outcome & Pick<Batch, 'sent' | 'leftOut'>} Answer */

/** Plants whose names are compared with those of a list. */
const MAX_NAMES = 200_000;

/** The names of all plants; undefined if they are too many. */
export async function storedNames(/** @type {Request} */ request) {
  const path = `plants?limit=${MAX_NAMES + 1}`;
  const { body } = await send('GET', path, { ...request, has: 'length' });
  const plants = /** @type {{ name: string }[]} */ (body);
  return plants.length > MAX_NAMES ? undefined : plants.map(({ name }) => folded(name));
}

/**
 * Sends a list in batches: `next` the next one; after a failure, the same one again, which is safe. Undefined at the end.
 *
 * @throws Error from `next` as `send` does; if the list cannot be read further
 * @param {Reading} reading
 * @param {boolean} isCheck whether nothing is stored
 */
export function listSender(reading, isCheck) {
  const names = new Set(reading.names);
  const isLeftOut = ({ name = '' }) => reading.names !== undefined && names.size === names.add(folded(name)).size;
  const { list, layout, idsFrom } = reading;
  const batches = batchesOf(recordsOf(list.text, layout, idsFrom), isLeftOut);
  const query = new URLSearchParams({ existing: reading.existing, check: `${isCheck}` });
  let batch = /** @type {Batch | undefined} */ (undefined);
  let done = 0;

  /** @returns {Promise<Answer | undefined>} */
  async function next(/** @type {Request} */ request) {
    batch ??= batches.next().value || undefined;
    if (batch === undefined) return undefined;
    const how = { ...request, body: batch.lines, type: 'application/x-ndjson', has: 'records' };
    const response = batch.lines === '' ? undefined : await send('POST', `import?${query}`, how);
    const outcome = outcomeOf(batch, /** @type {Result | undefined} */ (response?.body));
    const { sent, leftOut, size } = batch;
    batch = undefined;
    done += size;
    return { ...outcome, sent, leftOut };
  }
  /** What is done, from 0 to 1. */
  return { next, progress: () => done / list.text.length };
}
