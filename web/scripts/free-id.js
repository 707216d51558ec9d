/** @import { Plant, Request } from './api.js' */
import { nextAfter, send } from './api.js';
import { asId } from './ids.js';

/** The plant with the highest id; undefined if there is none. */
export async function highestPlant(/** @type {Request} */ request) {
  for (let from = ''; ; ) {
    const { body, headers } = await send('GET', `plants?order=desc&limit=1${from}`, { ...request, has: 'length' });
    const [[plant], next] = [/** @type {Plant[]} */ (body), nextAfter(headers)];
    // A page of many deleted plants may end without one.
    if (plant || next === undefined) return plant;
    from = `&after=${next}`;
  }
}

/** The id after the highest, or the time in milliseconds if there is none. A deleted plant may have it. */
export async function proposedId(/** @type {Request} */ request) {
  return idAfter(await highestPlant(request));
}

const idAfter = (/** @type {Plant | undefined} */ highest) => nextId(highest && highest.id > 0n ? highest.id : 0n, 1n);

export const nextId = (/** @type {bigint} */ id, /** @type {bigint} */ step) => asId(id + step) ?? BigInt(Date.now());

/**
 * An id that no plant has or had, and probably none of those after it. The steps over deleted ids double, so that a million
 * of them take 20 requests.
 */
export async function freeId(/** @type {Plant | undefined} */ highest, /** @type {Request} */ request) {
  let id = idAfter(highest);
  for (let step = 1n; await isTaken(id, request); step *= 2n) id = nextId(id, step);
  return id;
}

/** Whether a plant has the id. Asked so that none is no error, which browsers report. */
export async function hasPlant(/** @type {bigint} */ id, /** @type {Request} */ request) {
  const { body } = await send('GET', `plants?limit=1&after=${id - 1n}`, { ...request, has: 'length' });
  return /** @type {Plant[]} */ (body)[0]?.id === id;
}

/** Whether a plant has the id, or had it. */
async function isTaken(/** @type {bigint} */ id, /** @type {Request} */ request) {
  try {
    await send('GET', `plants/${id}`, request);
  } catch (error) {
    if (!(error instanceof Error) || ![40401, 41000].includes(Number(error.cause))) throw error;
    return error.cause === 41000;
  }
  return true;
}
