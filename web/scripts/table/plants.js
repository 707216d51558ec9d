/** @import { Change, Plant, Row, Trouble, View } from '../types.d.ts' */
import { nextAfter, send } from '../api.js';
import { asId } from '../ids.js';
import { cut } from '../texts.js';
import { queryOf } from './fragment.js';

const PAGE = 500;
/** Rows in memory. Browsers limit heights, too. */
const MAX_ROWS = 50_000;

/**
 * The plants of a view in its order: a part without gaps, which grows at its end.
 *
 * @param {{ updated(): void, permitted(methods: string): void, failed(error: unknown): void, trouble: Trouble }} events
 *   of which `permitted` gets the methods that the token may use on the list: its `Allow`
 */
export function plantList({ updated, permitted, failed, trouble }, first = viewOfAll) {
  let rows = /** @type {Row[]} */ ([]);
  let view = first;
  /** The id that the rows reach to; undefined before the first plant. */
  let end = /** @type {bigint | undefined} */ (undefined);
  /** After a failure nothing more is loaded until `show`, so that scrolling does not repeat the request. */
  let state = /** @type {'partial' | 'loading' | 'failed' | 'complete'} */ ('complete');
  const hasMore = () => state !== 'complete';
  /** Whether there is more that the service has not refused to send. */
  const canGrow = () => hasMore() && state !== 'failed';
  /** Whether the service is searching for names, which may take a while. */
  const isSearching = () => state === 'loading' && view.name !== undefined;
  let leaving = new AbortController();
  /** Whether plants have changed that a search may have missed: only the service knows which names contain a text. */
  let isOutdated = false;
  /** What came while a page was on its way, which may be older. */
  let held = /** @type {Change[]} */ ([]);

  const isBefore = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (view.order === 'desc' ? a > b : a < b);

  /** What follows the rows, or the last part of the view, read backwards. */
  async function readPage(isFromEnd = false) {
    const backwards = view.order === 'desc' ? undefined : /** @type {const} */ ('desc');
    for (let after = end; ; ) {
      const order = isFromEnd ? backwards : view.order;
      const paging = [['limit', `${PAGE}`], ...(after === undefined ? [] : [['after', `${after}`]])];
      const query = new URLSearchParams([...paging, ...queryOf({ ...view, from: undefined, order })]);
      const { body, headers } = await send('GET', `plants?${query}`, {
        signal: leaving.signal,
        trouble,
        has: 'length',
      });
      const [plants, next] = [/** @type {Plant[]} */ (body), nextAfter(headers)];
      permitted(headers.get('Allow') ?? '');
      if (plants.length > 0 || next === undefined || !isFromEnd) return { plants, next };
      after = next;
    }
  }

  /** Loads what follows, unless it is loading or nothing does. */
  async function load(isFromEnd = false) {
    if (state !== 'partial') return;
    state = 'loading';
    const { signal } = leaving;
    try {
      const { plants, next } = await readPage(isFromEnd);
      rows.push(...(isFromEnd ? plants.toReversed() : plants).map(rowOf));
      // A search may have looked further than its last plant.
      state = next === undefined || isFromEnd ? 'complete' : 'partial';
      end = isFromEnd ? rows.at(-1)?.id : (next ?? rows.at(-1)?.id);
      if (isFromEnd && next !== undefined) view = { ...view, from: rows[0]?.id };
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      state = 'failed';
    }
    // The first half goes, and the view begins with the second.
    if (rows.length > MAX_ROWS) {
      rows = rows.slice(MAX_ROWS / 2);
      view = { ...view, from: rows[0]?.id };
    }
    apply(held.splice(0));
  }

  /** The index of the row with this id, or else of the next one; with `isBehind`, of the next one in any case. */
  function indexOf(/** @type {bigint} */ id, isBehind = false) {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = rows[middle]?.id ?? id;
      if (isBefore(found, id) || (isBehind && found === id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function apply(/** @type {readonly Change[]} */ changes) {
    if (state === 'loading') held.push(...changes);
    for (const change of changes) {
      const { id } = change;
      const index = indexOf(id);
      const known = rows[index]?.id === id ? 1 : 0;
      const isGone = 'deleted' in change || (view.tag !== undefined && change.tag !== view.tag);
      const isLoaded = !isBefore(id, view.from ?? id) && (!hasMore() || (end !== undefined && !isBefore(end, id)));
      const mayMatch = view.name === undefined || (known && !isGone && contains(change.name, view.name));
      if (isGone || !mayMatch) rows.splice(index, known);
      else if (isLoaded) rows.splice(index, known, { ...rowOf(change), isFresh: true });
      isOutdated ||= !isGone && !mayMatch;
    }
    // The last rows go until they are scrolled to; not while a page is on its way that follows them.
    if (rows.length > MAX_ROWS && state !== 'loading') {
      rows.length = MAX_ROWS;
      end = rows.at(-1)?.id;
      state = 'partial';
    }
    updated();
  }

  /** @param wanted the view to begin again with */
  function begin(/** @type {View} */ wanted) {
    leaving.abort();
    leaving = new AbortController();
    [view, rows, held, state, isOutdated] = [wanted, [], [], 'partial', false];
    const step = wanted.order === 'desc' ? 1n : -1n;
    end = wanted.from === undefined ? undefined : asId(wanted.from + step);
  }

  return {
    rows: () => /** @type {readonly Row[]} */ (rows),
    view: () => view,
    hasMore,
    canGrow,
    isSearching,
    isOutdated: () => isOutdated,
    /** Whether it has a row with this id. */
    has: (/** @type {bigint} */ id) => rows[indexOf(id)]?.id === id,
    indexOf,
    show(/** @type {View} */ wanted) {
      begin(wanted);
      updated();
    },
    /** Begins again, with the last plants of the view: `from` is the first of them, unless they are all. */
    async showEnd() {
      begin({ ...view, from: undefined });
      const loading = load(true);
      updated();
      await loading;
    },
    loadMore: () => load(),
    apply,
  };
}

const viewOfAll = /** @type {View} */ ({});

export const contains = (/** @type {string} */ name, /** @type {string} */ text) =>
  name.toLowerCase().includes(text.toLowerCase());

export function rowOf(/** @type {Plant} */ { id, name, tag }) {
  return { id, name: cut(name), tag: tag === undefined ? undefined : cut(tag) };
}
