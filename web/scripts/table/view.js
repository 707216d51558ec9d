/** @import { Plant } from '../api.js' */
import { idOf } from '../ids.js';

/*
 * Which plants the table shows, in which order. The fragment of the address alone says so: it survives a reload, and reaches
 * no server and no log.
 */

/**
 * `name` has words of a name, or an id, `untagged` is set for plants without a tag, and `order` is one of ORDERS.
 *
 * @typedef {{ name?: string | undefined, tag?: string | undefined, untagged?: string | undefined, order?: string | undefined }} View
 */
/** A plant as a list keeps it: `key` is its name as it is compared. @typedef {Plant & { key: string }} Row */

/** By id, name or tag, and backwards; the first is `order=desc` of the service. */
const ORDERS = ['desc', 'name', '-name', 'tag', '-tag'];

/** @returns {View} */
export function view() {
  const texts = new URLSearchParams(location.hash.slice(1));
  const text = (/** @type {string} */ name) => texts.get(name) || undefined;
  const order = ORDERS.find((value) => value === texts.get('order'));
  return { name: text('name'), tag: texts.get('tag') ?? undefined, untagged: text('untagged'), order };
}

/** Has the address say what is shown, without a step for the browser's Back. */
export function keepInAddress(/** @type {View} */ { name, tag, untagged, order }) {
  const fragment = `${queryOf({ name, tag, untagged, order })}`;
  history.replaceState(null, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`);
}

/** The limits that are set, as a query has them. */
export function queryOf(/** @type {Record<string, bigint | number | string | undefined>} */ limits) {
  const set = Object.entries(limits).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
  return new URLSearchParams(set);
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
