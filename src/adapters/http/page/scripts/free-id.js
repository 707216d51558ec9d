/** @import { Plant, Request } from './types.d.ts' */
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

/**
 * An id that no plant has or had: after the highest and the deleted ones that follow it, or the time in milliseconds if
 * there is none. The steps over deleted ids double, so that a million of them take 20 requests.
 */
export async function freeId(/** @type {Request} */ request) {
  const highest = (await highestPlant(request))?.id ?? 0n;
  let id = after(highest > 0n ? highest : 0n, 1n);
  for (let step = 1n; await isTaken(id, request); step *= 2n) id = after(id, step);
  return id;
}

const after = (/** @type {bigint} */ id, /** @type {bigint} */ step) => asId(id + step) ?? BigInt(Date.now());

async function isTaken(/** @type {bigint} */ id, /** @type {Request} */ request) {
  try {
    await send('GET', `plants/${id}`, request);
  } catch (error) {
    if (!(error instanceof Error) || ![40401, 41000].includes(Number(error.cause))) throw error;
    return error.cause === 41000;
  }
  return true;
}
