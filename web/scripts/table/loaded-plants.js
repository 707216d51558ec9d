/** @import { Change, Plant, Trouble } from '../api.js' */
/** @import { Row, View } from './view.js' */
import { nextAfter, send } from '../api.js';
import { latest } from '../dom.js';
import { asId } from '../ids.js';
import { cut } from '../texts.js';
import { folded, queryOf } from './view.js';

/** Plants that are asked for at once: at first few, so that they come soon. */
const [FIRST, PAGE] = [200, 1_000];
/** Rows in memory. Browsers limit heights, too. */
const MAX_ROWS = 50_000;

/**
 * The plants that the service was asked for: a part without gaps in the order of ids, which grows at its end.
 *
 * @param {{ updated(): void, full(): void, permitted(methods: string): void, failed(error: unknown): void, trouble: Trouble }} events
 *   of which `full` says that there are more than are kept, and `permitted` gets the methods that the token may use on the
 *   list: its `Allow`
 */
export function loadedPlants({ updated, full, permitted, failed, trouble }) {
  let asked = /** @type {View} */ ({});
  /** The id with which the rows begin, unless they begin with the first one; the one that they reach to. */
  let [from, end] = /** @type {(bigint | undefined)[]} */ ([undefined, undefined]);
  let rows = /** @type {Row[]} */ ([]);
  /** After a failure nothing more is loaded until it begins again, so that scrolling does not repeat the request. */
  let state = /** @type {'partial' | 'loading' | 'failed' | 'complete'} */ ('complete');
  let growing = /** @type {Promise<void> | undefined} */ (undefined);
  const begins = latest();
  let signal = begins();
  /** What came while a page was on its way, which may be older. */
  let held = /** @type {Change[]} */ ([]);

  const hasMore = () => state !== 'complete';
  const isBefore = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (asked.order === 'desc' ? a > b : a < b);

  /** What follows the rows, or the last part, read backwards. */
  async function readPage(isFromEnd = false) {
    const backwards = asked.order === 'desc' ? undefined : 'desc';
    for (let after = end; ; ) {
      const limit = rows.length === 0 && !isFromEnd ? FIRST : Math.min(PAGE, MAX_ROWS - rows.length || PAGE);
      const query = queryOf({ limit, after, ...asked, order: isFromEnd ? backwards : asked.order });
      const { body, headers } = await send('GET', `plants?${query}`, { signal, trouble, has: 'length' });
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
    const current = signal;
    try {
      const { plants, next } = await readPage(isFromEnd);
      rows.push(...(isFromEnd ? plants.toReversed() : plants).map(rowOf));
      // A search may have looked further than its last plant.
      state = next === undefined || isFromEnd ? 'complete' : 'partial';
      end = isFromEnd ? rows.at(-1)?.id : (next ?? rows.at(-1)?.id);
      if (isFromEnd && next !== undefined) from = rows[0]?.id;
    } catch (error) {
      if (current.aborted) return;
      failed(error);
      state = 'failed';
    }
    // The first half goes.
    if (rows.length > MAX_ROWS) {
      rows = rows.slice(MAX_ROWS / 2);
      from = rows[0]?.id;
    }
    apply(held.splice(0));
  }

  /** Loads all that are kept; of a search, which takes the service long, as many as are seen. */
  async function grow() {
    const current = signal;
    do await load();
    while (!current.aborted && state === 'partial' && rows.length < MAX_ROWS && asked.name === undefined);
    if (current.aborted) return;
    growing = undefined;
    if (state === 'partial') full();
  }

  /** The index of the row with this id, or else of the next one. */
  function placeOf(/** @type {bigint} */ id) {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(rows[middle]?.id ?? id, id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const isAskedFor = (/** @type {Plant} */ { name, tag }) =>
    (asked.tag === undefined || tag === asked.tag) &&
    (asked.name === undefined || name.toLowerCase().includes(asked.name.toLowerCase()));

  function apply(/** @type {readonly Change[]} */ changes) {
    if (state === 'loading') held.push(...changes);
    for (const change of changes) {
      const { id } = change;
      const index = placeOf(id);
      const isKnown = rows[index]?.id === id;
      const isLoaded = !isBefore(id, from ?? id) && (!hasMore() || (end !== undefined && !isBefore(end, id)));
      const isThere = (isKnown || isLoaded) && !('deleted' in change) && isAskedFor(change);
      rows.splice(index, isKnown ? 1 : 0, ...(isThere ? [{ ...rowOf(change), isFresh: true }] : []));
    }
    // The last rows go until they are scrolled to; not while a page is on its way that follows them.
    const isFull = rows.length > MAX_ROWS && state !== 'loading';
    if (isFull) {
      rows.length = MAX_ROWS;
      [end, state] = [rows.at(-1)?.id, 'partial'];
    }
    updated();
    if (isFull) full();
  }

  return {
    rows: () => /** @type {readonly Row[]} */ (rows),
    asked: () => asked,
    from: () => from,
    hasMore,
    /** Whether there is more that the service has not refused to send. */
    canGrow: () => hasMore() && state !== 'failed',
    isLoading: () => state === 'loading',
    /** Begins with this id, or with the last part, whose first id it then has. */
    begin(/** @type {View} */ wanted, /** @type {bigint | undefined} */ first, isFromEnd = false) {
      signal = begins();
      [asked, from, rows, held, state] = [wanted, first, [], [], 'partial'];
      end = first === undefined ? undefined : asId(first + (asked.order === 'desc' ? 1n : -1n));
      growing = isFromEnd ? load(true) : grow();
      updated();
      return growing;
    },
    /** Resolves once no more is loaded by itself. */
    grown: async () => growing,
    loadMore: () => growing ?? load(),
    apply,
  };
}

/** @returns {Row} */
export function rowOf(/** @type {Plant} */ { id, name, tag }) {
  return { id, name: cut(name), tag: tag === undefined ? undefined : cut(tag), key: folded(name.slice(0, 1_000)) };
}
