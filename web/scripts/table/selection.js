/** @import { Row } from './view.js' */
import { redraw } from '../dom.js';
import * as list from './plants.js';

/* The selected rows of the table. A row that has gone is selected again if it comes back. */

let ids = /** @type {Set<bigint>} */ (new Set());
/** Where a range of rows begins. */
let start = /** @type {bigint | undefined} */ (undefined);

export const has = (/** @type {bigint} */ id) => ids.has(id);
/** @returns {readonly Row[]} those that the table has */
export const rows = () => (ids.size === 0 ? [] : list.rows().filter(({ id }) => ids.has(id)));

export function remove(/** @type {bigint} */ id) {
  ids.delete(id);
  redraw();
}

/** Selects these, and no others. */
export function replace(/** @type {Set<bigint>} */ newIds) {
  ids = newIds;
  start = undefined;
  redraw();
}

export function toggle(/** @type {bigint} */ id) {
  if (!ids.delete(id)) ids.add(id);
  start = id;
  redraw();
}

/** Selects all rows from the one that was toggled last to this one, too. */
export function extend(/** @type {bigint} */ id) {
  if (start === undefined || !ids.has(start) || list.indexOf(start) < 0) start = id;
  const [from = 0, to = 0] = [list.indexOf(start), list.indexOf(id)].sort((a, b) => a - b);
  all(from, to + 1);
}

/** Selects every row, too, or those between two places. */
export function all(from = 0, to = Infinity) {
  for (const { id } of list.rows().slice(from, to)) ids.add(id);
  redraw();
}
