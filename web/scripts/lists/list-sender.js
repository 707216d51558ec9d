/** @import { Batch, Outcome, Result } from '../../../src/lists/batches.js' */
/** @import { Request } from '../api.js' */
/** @import { Reading } from './list-reader.js' */
import { batchesOf, outcomeOf } from '../../../src/lists/batches.js';
import { recordsOf } from '../../../src/lists/records.js';
import { send } from '../api.js';

/** Plants whose names are compared with those of a list. */
const NAMES_MAX = 200_000;

/** The names of all plants. @throws Error in words if they are too many */
async function storedNames(/** @type {Request} */ request) {
  const { body } = await send('GET', `plants?limit=${NAMES_MAX + 1}`, { ...request, has: 'length' });
  const plants = /** @type {{ name: string }[]} */ (body);
  if (plants.length > NAMES_MAX) throw new Error('There are too many plants to compare their names: leave out none.');
  return plants.map(({ name }) => name);
}

/**
 * Sends a list in batches. `next` sends the next one, or safely again the one that failed, and says whether there was one.
 *
 * @throws Error from `next` as `send` does; if the list cannot be read further
 * @param {Reading} reading
 * @param {boolean} isCheck whether nothing is stored
 * @param {(outcome: Outcome) => void} report what takes the outcome of each batch
 */
export function listSender(reading, isCheck, report) {
  const { list, layout, existing, idsFrom, skipsNames } = reading;
  let batches = /** @type {Iterator<Batch, undefined> | undefined} */ (undefined);
  const query = new URLSearchParams({ existing, check: `${isCheck}` });
  let batch = /** @type {Batch | undefined} */ (undefined);
  let sentLength = 0;

  async function next(/** @type {Request} */ request) {
    const names = batches === undefined && skipsNames ? await storedNames(request) : undefined;
    batches ??= batchesOf(recordsOf(list.text, layout, idsFrom), names);
    batch ??= batches.next().value;
    if (batch === undefined) return false;
    const options = { ...request, body: batch.lines, type: 'application/x-ndjson', has: 'records' };
    const response = batch.lines === '' ? undefined : await send('POST', `import?${query}`, options);
    report(outcomeOf(batch, /** @type {Result | undefined} */ (response?.body)));
    sentLength += batch.size;
    batch = undefined;
    return true;
  }
  /** What is done, from 0 to 1. */
  return { next, progress: () => sentLength / list.text.length };
}
