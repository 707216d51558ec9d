/** @import { Plant } from '../api.js' */
import { idOf } from '../ids.js';

/* Which plants the table shows, in which order. It stands in the fragment of the address: it survives a reload, and reaches no server and no log. */

/**
 * `name` has words of a name, or an id, `untagged` is set for plants without a tag, and `order` is one of ORDERS.
 *
 * @typedef {{ name?: string | undefined, tag?: string | undefined, untagged?: string | undefined, order?: string | undefined }} View
 */
/** A plant as a list keeps it: `key` is its name as it is compared. @typedef {Plant & { key: string }} Row */

/** By id, name or tag, and backwards; the first is `order=desc` of the service. */
const ORDERS = ['desc', 'name', '-name', 'tag', '-tag'];

/** @returns {View} */
export function viewIn(/** @type {string} */ fragment) {
  const texts = new URLSearchParams(fragment.slice(1));
  const text = (/** @type {string} */ name) => texts.get(name) || undefined;
  const order = ORDERS.find((one) => one === texts.get('order'));
  return { name: text('name'), tag: texts.get('tag') ?? undefined, untagged: text('untagged'), order };
}

/** What is given, as a query has it. */
export function queryOf(/** @type {Record<string, bigint | number | string | undefined>} */ limits) {
  const given = Object.entries(limits).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
  return new URLSearchParams(given);
}

const textOf = (/** @type {View} */ { name, tag, untagged, order }) => `${queryOf({ name, tag, untagged, order })}`;

/** Whether the address says something else than the view. */
export const isElsewhere = (/** @type {View} */ view) => textOf(view) !== textOf(viewIn(location.hash));

/** Has the address say what is shown, without a step for the browser's Back. */
export function keepInAddress(/** @type {View} */ view) {
  if (!isElsewhere(view)) return;
  const fragment = textOf(view);
  history.replaceState(null, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`);
}

export const isFiltered = (/** @type {View} */ { name, tag, untagged }) => Boolean(name ?? tag ?? untagged ?? false);

/** A text as it is compared: without accents, in lower case. Of long ones the beginning, since normalize is quadratic. */
export const folded = (/** @type {string} */ text) =>
  text.slice(0, 1_000).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss');

export const wordsOf = (/** @type {string} */ text) => folded(text).split(/\s+/).filter(Boolean);

/** The rows that a view wants, which have all its words in any order. */
export function matching(/** @type {readonly Row[]} */ rows, /** @type {View} */ { name = '', tag, untagged }) {
  const words = wordsOf(name).map((word) => ({ word, id: idOf(word) }));
  return rows.filter(
    (row) =>
      (tag === undefined || row.tag === tag) &&
      (!untagged || row.tag === undefined) &&
      words.every(({ word, id }) => row.key.includes(word) || row.id === id),
  );
}

/** Rows in the order of a view, which come in the order of their ids. Those without a tag are the last ones. */
export function ordered(/** @type {readonly Row[]} */ rows, /** @type {View['order']} */ order = '') {
  if (order === '') return rows;
  if (order === 'desc') return rows.toReversed();
  const [isDown, isByTag] = [order.startsWith('-'), order.endsWith('tag')];
  const keyed = rows.map((row) => ({ row, key: isByTag ? folded(row.tag ?? '') : row.key }));
  keyed.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key === isDown ? 1 : -1));
  const { yes = [], no = [] } = Object.groupBy(keyed, ({ row }) => (isByTag && row.tag === undefined ? 'no' : 'yes'));
  return [...yes, ...no].map(({ row }) => row);
}
