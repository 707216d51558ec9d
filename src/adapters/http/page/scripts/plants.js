/** @import { Change, ListEvents, Plant, PlantList, Row, View } from './types.d.ts' */
import { nextAfter, send } from './api.js';
import { asId } from './ids.js';
import { cut } from './texts.js';

const PAGE = 500;
/** Rows in memory. Browsers limit heights, too. */
const MAX_ROWS = 50_000;

/** The plants of a view in ascending order of id: a part without gaps, which grows at its end. @returns {PlantList} */
export function plantList(/** @type {ListEvents} */ { updated, permitted, failed, trouble }) {
  let rows = /** @type {Row[]} */ ([]);
  let view = /** @type {View} */ ({});
  /** The id that the rows reach to; undefined before the first plant. */
  let end = /** @type {bigint | undefined} */ (undefined);
  /** After a failure nothing more is loaded until `show`, so that scrolling does not repeat the request. */
  let state = /** @type {'partial' | 'loading' | 'failed' | 'complete'} */ ('complete');
  const hasMore = () => state !== 'complete';
  const canGrow = () => hasMore() && state !== 'failed';
  const isSearching = () => state === 'loading' && view.name !== undefined;
  let leaving = new AbortController();
  /** Whether plants have changed that a search may have missed: only the service knows which names contain a text. */
  let isOutdated = false;
  /** What came while a page was on its way, which may be older. */
  let held = /** @type {Change[]} */ ([]);

  async function loadMore() {
    if (state !== 'partial') return;
    state = 'loading';
    const { signal } = leaving;
    const query = new URLSearchParams({ limit: `${PAGE}` });
    if (end !== undefined) query.set('after', `${end}`);
    if (view.tag !== undefined) query.set('tag', view.tag);
    if (view.name !== undefined) query.set('name', view.name);
    try {
      const page = await send('GET', `plants?${query}`, { signal, trouble, has: 'length' });
      for (const plant of /** @type {Plant[]} */ (page.body)) rows.push(rowOf(plant));
      // A search may have looked further than its last plant.
      const next = nextAfter(page.headers);
      state = next === undefined ? 'complete' : 'partial';
      end = next ?? rows.at(-1)?.id;
      permitted(page.headers.get('Allow') ?? '');
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

  function indexOf(/** @type {bigint} */ id) {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle]?.id ?? id) < id) low = middle + 1;
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
      const isLoaded = id >= (view.from ?? id) && (!hasMore() || (end !== undefined && id <= end));
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

  function show(/** @type {View} */ wanted) {
    leaving.abort();
    leaving = new AbortController();
    [view, rows, held, state, isOutdated] = [wanted, [], [], 'partial', false];
    end = wanted.from === undefined ? undefined : asId(wanted.from - 1n);
    updated();
  }

  return {
    rows: () => rows,
    view: () => view,
    hasMore,
    canGrow,
    isSearching,
    isOutdated: () => isOutdated,
    indexOf,
    show,
    loadMore,
    apply,
  };
}

const contains = (/** @type {string} */ name, /** @type {string} */ text) =>
  name.toLowerCase().includes(text.toLowerCase());

function rowOf(/** @type {Plant} */ { id, name, tag }) {
  return { id, name: cut(name), tag: tag === undefined ? undefined : cut(tag) };
}
