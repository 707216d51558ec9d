/** @import { Request } from '../api.js' */
import { send } from '../api.js';
import { hasPlant, nextId, proposedId } from '../free-id.js';
import { idOf, NOT_AN_ID } from '../ids.js';

/** The numbers of the errors of an id that another plant has or had. */
const TAKEN = [40009, 40010];

/** What adds plants, with the ids that it proposes in this field. */
export function newPlants(/** @type {HTMLInputElement} */ field) {
  let proposed = '';
  field.addEventListener('input', () => {
    proposed = '';
  });

  return {
    /** Proposes an id, unless one is typed meanwhile. */
    async propose(/** @type {Request} */ request) {
      proposed = '';
      const former = field.value;
      const id = `${await proposedId(request)}`;
      if (field.value !== former) return;
      [field.value, proposed] = [id, id];
      // Otherwise it would become the first digits of an id that is typed next.
      if (field.matches(':focus')) field.select();
    },
    /** Adds a plant with the id of the field, or the next one that is free if it is the proposed one or none. @returns its id */
    async add(/** @type {string} */ members, /** @type {Request} */ request) {
      const text = field.value.trim();
      const typed = text && text !== proposed ? idOf(text) : undefined;
      if (text && idOf(text) === undefined) throw new Error(NOT_AN_ID);
      if (typed === undefined) return addFrom(idOf(text) ?? (await proposedId(request)), members, request);
      await addAt(typed, members, request);
      return typed;
    },
  };
}

const addAt = (/** @type {bigint} */ id, /** @type {string} */ members, /** @type {Request} */ request) =>
  send('POST', 'plants', { ...request, body: `{"id":${id},${members}}` });

/**
 * Adds a plant with this id, or the next one that is free. The steps double, so that a million deleted plants take 20
 * requests.
 *
 * @param {bigint} wanted
 * @param {string} members of the body, in JSON, after the id
 * @param {Request} request
 * @returns its id
 */
export async function addFrom(wanted, members, request) {
  for (let [id, step] = [wanted, 1n]; ; [id, step] = [nextId(id, step), 2n * step]) {
    // Somebody else's plant with the same texts would seem to be this one.
    if (await hasPlant(id, request)) continue;
    try {
      await addAt(id, members, request);
      return id;
    } catch (error) {
      if (!(error instanceof Error && TAKEN.includes(Number(error.cause)))) throw error;
    }
  }
}
