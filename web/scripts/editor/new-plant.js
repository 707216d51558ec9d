/** @import { Request } from '../types.d.ts' */
import { send } from '../api.js';
import { isTaken, nextId, proposedId } from '../free-id.js';

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
    /**
     * Adds a plant, with the next id if the proposed one is taken. The steps double, so that a million deleted plants take
     * 20 requests.
     *
     * @param members of the body, in JSON, after the id
     * @returns its id
     */
    async add(/** @type {bigint} */ wanted, /** @type {string} */ members, /** @type {Request} */ request) {
      const isProposed = field.value === proposed;
      for (let [id, step] = [wanted, 1n]; ; [id, step] = [nextId(id, step), 2n * step]) {
        field.value = `${id}`;
        // Somebody else's plant with the same texts would seem to be this one.
        if (isProposed && (await isTaken(id, request))) continue;
        try {
          await send('POST', 'plants', { ...request, body: `{"id":${id},${members}}` });
          return id;
        } catch (error) {
          const isLate = error instanceof Error && TAKEN.includes(Number(error.cause));
          if (!isLate || !isProposed) throw error;
        }
      }
    },
  };
}
