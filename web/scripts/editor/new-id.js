/** @import { Request } from '../api.js' */
import { byId } from '../dom.js';
import { freeId, highestPlant, idOf, NOT_AN_ID } from '../ids.js';

/* The id of a plant that is added. */

const field = byId('plant-id', HTMLInputElement);
let proposed = '';

/** Proposes one, unless one is typed meanwhile. */
export async function proposeId(/** @type {Request} */ request) {
  proposed = '';
  const id = `${await freeId(await highestPlant(request), request)}`;
  if (field.value !== '') return;
  [field.value, proposed] = [id, id];
  // Otherwise it would become the first digits of an id that is typed next.
  if (field.matches(':focus')) field.select();
}

/** That of the field, or the next one that is free if it is the proposed one, or none. */
export async function newId(/** @type {Request} */ request) {
  const text = field.value.trim();
  if (text === '') return freeId(await highestPlant(request), request);
  const id = idOf(text);
  if (id === undefined) throw new Error(NOT_AN_ID);
  // Somebody else may have taken it: the same texts would seem to be this plant.
  return text === proposed ? freeId({ id: id - 1n }, request) : id;
}
