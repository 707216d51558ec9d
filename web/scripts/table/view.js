/** @import { Plant } from '../api.js' */
import { idOf } from '../ids.js';

/*
 * Which plants the table shows, in which order. The fragment of the address alone says so: it survives a reload, and reaches
 * no server and no log.
 */

/**
 * `name` has words of a name, or an id, `tag` is null for plants without one, and `order` is one of ORDERS.
 *
 * @typedef {{ name?: string | undefined, tag?: string | null | undefined, order?: string | undefined }} View
 */
/** A plant as a list keeps it: `key` is its name as it is compared. @typedef {Plant & { key: string }} Row */

/** By id, name or tag, each also backwards. Those by id are the service's. */
export const ORDERS = [undefined, 'desc', 'name', '-name', 'tag', '-tag'];

/** @returns {View} */
export function view() {
  const texts = new URLSearchParams(location.hash.slice(1));
  const order = ORDERS.find((value) => value === texts.get('order'));
  const tag = texts.has('untagged') ? null : (texts.get('tag') ?? undefined);
  return { name: texts.get('name') || undefined, tag, order };
}

/** Makes the address say what is shown, without a step in the browser's history. */
export function keepInAddress(/** @type {View} */ { name, tag, order }) {
  const fragment = `${queryOf({ name, tag, untagged: tag === null ? 1 : null, order })}`;
  history.replaceState(null, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`);
}

/** The limits that are set, as a query. */
export function queryOf(/** @type {Record<string, bigint | number | string | null | undefined>} */ limits) {
  const set = Object.entries(limits).flatMap(([name, value]) => (value == null ? [] : [[name, `${value}`]]));
  return new URLSearchParams(set);
}

export const isFiltered = (/** @type {View} */ { name, tag }) => name !== undefined || tag !== undefined;

/** A text as it is compared: without accents, in lower case. Only its beginning counts, since normalize is quadratic. */
export const folded = (/** @type {string} */ text) =>
  text.slice(0, 1_000).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss');

export const wordsOf = (/** @type {string} */ text) => folded(text).split(/\s+/).filter(Boolean);

/** The rows that a view wants, which have all its words in any order. */
export function matching(/** @type {readonly Row[]} */ rows, /** @type {View} */ { name = '', tag }) {
  const words = wordsOf(name).map((word) => ({ word, id: idOf(word) }));
  return rows.filter(
    (row) =>
      (tag === undefined || (row.tag ?? null) === tag) &&
      words.every(({ word, id }) => row.key.includes(word) || row.id === id),
  );
}

/** Sorts rows, which come in the order of their ids, as a view says. Those without a tag are last. */
export function ordered(/** @type {readonly Row[]} */ rows, /** @type {View['order']} */ order = '') {
  if (order === '') return rows;
  if (order === 'desc') return rows.toReversed();
  const [isDown, isByTag] = [order.startsWith('-'), order.endsWith('tag')];
  const entries = rows.map((row) => ({ row, key: isByTag ? folded(row.tag ?? '') : row.key }));
  entries.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key === isDown ? 1 : -1));
  const { yes = [], no = [] } = Object.groupBy(entries, ({ row }) => (isByTag && row.tag === undefined ? 'no' : 'yes'));
  return [...yes, ...no].map(({ row }) => row);
}
