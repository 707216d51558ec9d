/** @import { PlantList } from './plants.js' */
/** @import { Row } from './view.js' */

/**
 * @typedef {object} Selection
 * @property {(id: bigint) => boolean} has
 * @property {() => readonly Row[]} rows those that the list has
 * @property {(id: bigint) => void} toggle
 * @property {(id: bigint) => void} extend selects all rows from the one that was toggled last to this one
 * @property {() => void} all selects every row that the list has
 * @property {(id: bigint) => void} remove without an update: the row has changed, or goes
 * @property {(ids: Set<bigint>) => void} replace selects these, and no others
 */

/** The rows of a list that are selected: those that have gone are not, and are again if they come back. @returns {Selection} */
export function rowSelection(/** @type {PlantList} */ list, /** @type {() => void} */ updated) {
  let ids = /** @type {Set<bigint>} */ (new Set());
  /** Where a range of rows begins. */
  let first = /** @type {bigint | undefined} */ (undefined);

  function add(/** @type {number} */ from, /** @type {number} */ to) {
    for (const { id } of list.rows().slice(from, to + 1)) ids.add(id);
  }

  return {
    has: (id) => ids.has(id),
    rows: () => (ids.size === 0 ? [] : list.rows().filter(({ id }) => ids.has(id))),
    toggle(id) {
      if (!ids.delete(id)) ids.add(id);
      first = id;
      updated();
    },
    extend(id) {
      const isStart = first !== undefined && ids.has(first) && list.indexOf(first) >= 0;
      if (!isStart) first = id;
      const ends = [list.indexOf(first ?? id), list.indexOf(id)];
      add(Math.min(...ends), Math.max(...ends));
      updated();
    },
    all() {
      add(0, list.rows().length);
      updated();
    },
    remove: (id) => void ids.delete(id),
    replace(chosen) {
      ids = chosen;
      first = undefined;
      updated();
    },
  };
}
