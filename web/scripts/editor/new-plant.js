/** @import { Request } from '../api.js' */
import { create } from '../api.js';
import { freeId, highestPlant } from '../free-id.js';
import { idOf, NOT_AN_ID } from '../ids.js';

/** What adds plants, with the ids that it proposes in this field. */
export function newPlants(/** @type {HTMLInputElement} */ field) {
  let proposed = '';

  return {
    /** Proposes an id, unless one is typed meanwhile. */
    async propose(/** @type {Request} */ request) {
      proposed = '';
      const former = field.value;
      const id = `${await freeId(await highestPlant(request), request)}`;
      if (field.value !== former) return;
      [field.value, proposed] = [id, id];
      // Otherwise it would become the first digits of an id that is typed next.
      if (field.matches(':focus')) field.select();
    },
    /** Adds a plant with the id of the field, or the next one that is free if it is the proposed one or none. @returns its id */
    async add(/** @type {{ name: string, tag?: string | undefined }} */ texts, /** @type {Request} */ request) {
      const text = field.value.trim();
      let id = idOf(text);
      if (text && id === undefined) throw new Error(NOT_AN_ID);
      if (id === undefined) id = await freeId(await highestPlant(request), request);
      // Somebody else may have taken it: the same texts would seem to be this plant.
      else if (text === proposed) id = await freeId({ id: id - 1n }, request);
      await create({ id, ...texts }, request);
      return id;
    },
  };
}
