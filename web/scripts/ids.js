/** @import { Plant, Request } from './api.js' */
import { nextAfter, send } from './api.js';

/** Ids that are tried in one request. Their distances double, so that they reach behind millions of deleted plants. */
const TRIES_MAX = 24;

/** The number itself if it is an int64. */
export const asId = (/** @type {bigint} */ number) => (BigInt.asIntN(64, number) === number ? number : undefined);

/** The id of a text in decimal digits, which may have spaces around it, as pasted ones do; undefined for any other. */
export function idOf(/** @type {string} */ text) {
  const digits = text.trim();
  return /^-?0*\d{1,19}$/.test(digits) ? asId(BigInt(digits)) : undefined;
}

/** The plant with the highest id; undefined if there is none. */
async function highestPlant(/** @type {Request} */ request) {
  for (let from = ''; ; ) {
    const { body, headers } = await send('GET', `plants?order=desc&limit=1${from}`, { ...request, has: 'length' });
    const [[plant], next] = [/** @type {Plant[]} */ (body), nextAfter(headers)];
    // A page of many deleted plants may end without one.
    if (plant || next === undefined) return plant;
    from = `&after=${next}`;
  }
}

/**
 * An id above the highest, which no plant has or had; the ids after it are probably free, too. Above the last id, it is the time
 * in milliseconds. A list of candidates is checked, which stores nothing: browsers would report a 404 as an error.
 */
export async function freeId(/** @type {Request} */ request = {}) {
  const plant = await highestPlant(request);
  const after = plant && plant.id > 0n ? plant.id : 0n;
  const ids = Array.from({ length: TRIES_MAX }, (_, n) => asId(after + 2n ** BigInt(n)) ?? BigInt(Date.now() + n));
  // A random name: a plant with the same id and name would not be refused.
  const lines = ids.map((id) => `{"id":${id},"name":"candidate ${Math.random()}"}\n`).join('');
  const check = { ...request, body: lines, type: 'application/x-ndjson', has: 'records' };
  const { body } = await send('POST', 'import?check=true', check);
  const takenLines = new Set(/** @type {{ refused: { line: number }[] }} */ (body).refused.map(({ line }) => line));
  return ids.find((_, n) => !takenLines.has(n + 1)) ?? BigInt(Date.now());
}

/** The id that somebody has typed; a free one where that is nothing. @throws Error in words if it is no id */
export async function newId(/** @type {string} */ text, /** @type {Request} */ request) {
  const id = text.trim() === '' ? await freeId(request) : idOf(text);
  if (id === undefined) throw new Error(`An id is a whole number from ${-(2n ** 63n)} to ${2n ** 63n - 1n}.`);
  return id;
}
