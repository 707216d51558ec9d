/** @import { Change, Plant, Trouble } from '../api.js' */
/** @import { Row, View } from './view.js' */
import { nextAfter, send } from '../api.js';
import { latest } from '../dom.js';
import { asId } from '../ids.js';
import { folded, queryOf } from './view.js';

/** Plants that are asked for at once: at first few, so that they come soon. */
const [FIRST_PAGE, PAGE] = [200, 1_000];
/** Rows in memory. Browsers limit heights, too. */
const ROWS_MAX = 50_000;

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
  const begins = latest();
  let signal = begins();
  /** What came while a page was on its way, which may be older. */
  let held = /** @type {Change[]} */ ([]);

  const hasMore = () => state !== 'complete';
  const isBefore = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (asked.order === 'desc' ? a > b : a < b);

  /** Loads all that are kept; of a search, which takes the service long, as many as are seen. */
  async function load() {
    if (state !== 'partial') return;
    state = 'loading';
    const current = signal;
    try {
      const limit = rows.length === 0 ? FIRST_PAGE : Math.min(PAGE, ROWS_MAX - rows.length || PAGE);
      const path = `plants?${queryOf({ limit, after: end, ...asked })}`;
      const { body, headers } = await send('GET', path, { signal, trouble, has: 'length' });
      permitted(headers.get('Allow') ?? '');
      rows.push(.../** @type {Plant[]} */ (body).map(rowOf));
      // A search may have looked further than its last plant.
      const next = nextAfter(headers);
      [end, state] = [next ?? rows.at(-1)?.id, next === undefined ? 'complete' : 'partial'];
    } catch (error) {
      if (current.aborted) return;
      failed(error);
      state = 'failed';
    }
    // The first half goes.
    if (rows.length > ROWS_MAX) {
      rows = rows.slice(ROWS_MAX / 2);
      from = rows[0]?.id;
    }
    apply(held.splice(0));
    if (state === 'partial' && rows.length >= ROWS_MAX) full();
    else if (asked.name === undefined) void load();
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
      const isHere = rows[index]?.id === id;
      const isLoaded = !isBefore(id, from ?? id) && (!hasMore() || (end !== undefined && !isBefore(end, id)));
      const isShown = (isHere || isLoaded) && !('deleted' in change) && isAskedFor(change);
      rows.splice(index, isHere ? 1 : 0, ...(isShown ? [rowOf(change)] : []));
    }
    // The last rows go until they are scrolled to; not while a page is on its way that follows them.
    const isFull = rows.length > ROWS_MAX && state !== 'loading';
    if (isFull) {
      rows.length = ROWS_MAX;
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
    /** Begins again, with this id. */
    begin(/** @type {View} */ view, /** @type {bigint | undefined} */ first) {
      signal = begins();
      [asked, from, rows, held, state] = [view, first, [], [], 'partial'];
      end = first === undefined ? undefined : asId(first + (asked.order === 'desc' ? 1n : -1n));
      void load();
      updated();
    },
    loadMore: () => void load(),
    apply,
  };
}

/** @returns {Row} */
const rowOf = (/** @type {Plant} */ plant) => ({ ...plant, key: folded(plant.name) });
