/** @import { PlantList } from './plants.js' */

/** @typedef {ReturnType<typeof rowSelection>} Selection */

/** The rows of a list that are selected: those that have gone are not, and are again if they come back. */
export function rowSelection(/** @type {PlantList} */ list, /** @type {() => void} */ updated) {
  const ids = /** @type {Set<bigint>} */ (new Set());
  /** Where a range of rows begins. */
  let first = /** @type {bigint | undefined} */ (undefined);

  function add(/** @type {number} */ from, /** @type {number} */ to) {
    for (const { id } of list.rows().slice(from, to + 1)) ids.add(id);
  }

  return {
    has: (/** @type {bigint} */ id) => ids.has(id),
    /** Those that the list has. */
    rows: () => (ids.size === 0 ? [] : list.rows().filter(({ id }) => ids.has(id))),
    toggle(/** @type {bigint} */ id) {
      if (!ids.delete(id)) ids.add(id);
      first = id;
      updated();
    },
    /** Selects all rows from the one that was toggled last to this one. */
    extend(/** @type {bigint} */ id) {
      const start = first !== undefined && ids.has(first) && list.has(first) ? first : id;
      const ends = [list.indexOf(start), list.indexOf(id)];
      add(Math.min(...ends), Math.max(...ends));
      first = start;
      updated();
    },
    /** Selects every row that the list has. */
    all() {
      add(0, list.rows().length);
      updated();
    },
    /** Without an update: the row has changed, or goes. */
    remove(/** @type {bigint} */ id) {
      ids.delete(id);
    },
    clear() {
      ids.clear();
      first = undefined;
      updated();
    },
  };
}
