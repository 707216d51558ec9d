/** @import { Change, Plant } from '../api.js' */
/** @import { Row, View } from './view.js' */
import { nextAfter, send } from '../api.js';
import { latest, redraw, setState, write } from '../dom.js';
import { failed } from '../errors.js';
import { asId, idOf } from '../ids.js';
import { loadTagsSoon } from '../tag-choices.js';
import { folded, matching, ordered, queryOf, view } from './view.js';

/*
 * The plants that the table shows. All are loaded, and arranged here; where there are more than are kept, the service is
 * asked for what the view wants. Those that are loaded are a run without gaps in the order of ids, which grows at its end.
 */

/** Rows that are requested at once: few at first, so that they come soon. */
const [FIRST_PAGE_ROWS_MAX, PAGE_ROWS_MAX] = [200, 1_000];
/** Rows in memory. Browsers limit heights, too. */
export const ROWS_MAX = 50_000;

let hasTooMany = false;
let query = /** @type {View} */ ({});
let loadedRows = /** @type {Row[]} */ ([]);
/** The id at which they begin, undefined for the first of all, and the id to which they reach. */
let [firstId, endId] = /** @type {(bigint | undefined)[]} */ ([undefined, undefined]);
/** Those that are shown, in their order; undefined until they are arranged. */
let shownRows = /** @type {readonly Row[] | undefined} */ (undefined);
/** After a failure nothing more is loaded until it begins again, so that scrolling does not repeat the request. */
let state = /** @type {'partial' | 'loading' | 'failed' | 'complete'} */ ('complete');
/** Changes that came while a page was on its way: the page may be older. */
let heldChanges = /** @type {Change[]} */ ([]);
/** Whether what is loaded is to be replaced by the first page. */
let isOld = false;
const begins = latest();
let signal = begins();

/** Whether there are more than are kept. */
export const isLarge = () => hasTooMany;
export const isLoading = () => state === 'loading';
export const hasMore = () => state !== 'complete';
/** Whether there is more that the service has not refused to send. */
export const canGrow = () => hasMore() && state !== 'failed';
/** Whether all is here that was asked for. */
export const isWhole = () => !hasMore() && firstId === undefined;
export const from = () => firstId;
/** Also those that are not shown. */
export const all = () => /** @type {readonly Row[]} */ (loadedRows);
/** The ids of all plants; undefined if not all are here. */
export const ids = () => (hasTooMany || !isWhole() ? undefined : new Set(loadedRows.map(({ id }) => id)));
/** Where a row is shown; -1 if it is not. */
export const indexOf = (/** @type {bigint | undefined} */ id) => rows().findIndex((row) => row.id === id);

export function rows() {
  shownRows ??= arrange();
  return shownRows;
}

function arrange() {
  const { order } = view();
  if (hasTooMany) return isWhole() && order !== 'desc' ? ordered(loadedRows, order) : loadedRows;
  // Not in an order that changes as more come.
  return order && !isWhole() ? [] : ordered(matching(loadedRows, view()), order);
}

/** Shows what the view has become. */
export function rearrange() {
  if (!isCurrent() || state === 'failed') reload();
  else refresh();
}

function refresh() {
  shownRows = undefined;
  redraw();
}
/** The id that the rows are to begin with, if the view says one. */
export const wantedId = () => (hasTooMany ? idOf(view().name ?? '') : undefined);

/** What the service is to be asked for. @returns {View} */
function wantedView() {
  if (!hasTooMany) return {};
  const name = wantedId() === undefined ? view().name : undefined;
  return { name, tag: view().tag ?? undefined, order: view().order === 'desc' ? 'desc' : undefined };
}

const isCurrent = () => `${queryOf(wantedView())}` === `${queryOf(query)}` && wantedId() === firstId;

/** Begins again. Those of the same view stay until they come anew. */
export function reload() {
  if (!isCurrent()) loadedRows = [];
  [signal, isOld] = [begins(), true];
  [query, firstId, heldChanges, state] = [wantedView(), wantedId(), [], 'partial'];
  endId = firstId === undefined ? undefined : asId(firstId + (query.order === 'desc' ? 1n : -1n));
  void loadMore();
  refresh();
}

/** Loads as many as are kept; of a search, which takes the service long, only as many as are looked at. */
export async function loadMore() {
  if (state !== 'partial') return;
  state = 'loading';
  const request = { signal, trouble: (problem = '') => write('trouble', problem), has: 'length' };
  try {
    const limit = isOld ? FIRST_PAGE_ROWS_MAX : Math.min(PAGE_ROWS_MAX, ROWS_MAX - loadedRows.length || PAGE_ROWS_MAX);
    const path = `plants?${queryOf({ limit, after: endId, ...query })}`;
    const { body, headers } = await send('GET', path, request);
    setState('may-create', headers.get('Allow')?.includes('POST') ?? false);
    if (isOld) loadedRows = [];
    loadedRows.push(.../** @type {Plant[]} */ (body).map(rowOf));
    // A search may have looked further than its last plant.
    const next = nextAfter(headers);
    [endId, state] = [next ?? loadedRows.at(-1)?.id, next === undefined ? 'complete' : 'partial'];
  } catch (error) {
    if (request.signal.aborted) return;
    failed(error);
    if (isOld) loadedRows = [];
    state = 'failed';
  }
  isOld = false;
  // The first half goes.
  if (loadedRows.length > ROWS_MAX) {
    loadedRows = loadedRows.slice(ROWS_MAX / 2);
    firstId = loadedRows[0]?.id;
  }
  if (heldChanges.length > 0) apply(heldChanges.splice(0));
  if (state === 'partial' && loadedRows.length >= ROWS_MAX) becomeLarge();
  else if (query.name === undefined) void loadMore();
  refresh();
}

function becomeLarge() {
  if (hasTooMany) return;
  hasTooMany = true;
  if (!isCurrent()) reload();
}

/** Takes over what has become of plants, by this page or others. */
export function apply(/** @type {readonly Change[]} */ changes) {
  loadTagsSoon();
  if (state === 'loading') heldChanges.push(...changes);
  const { tag = undefined, name = '', order } = query;
  const isBefore = (/** @type {bigint} */ a, /** @type {bigint} */ b) => (order === 'desc' ? a > b : a < b);
  const byId = new Map(loadedRows.map((row) => [row.id, row]));
  for (const change of changes) {
    const { id } = change;
    const isInReach = !isBefore(id, firstId ?? id) && (!hasMore() || (endId !== undefined && !isBefore(endId, id)));
    const isPlant = (byId.has(id) || isInReach) && !('deleted' in change) && (tag === undefined || change.tag === tag);
    if (isPlant && change.name.toLowerCase().includes(name.toLowerCase())) byId.set(id, rowOf(change));
    else byId.delete(id);
  }
  loadedRows = [...byId.values()].sort((a, b) => (isBefore(a.id, b.id) ? -1 : 1));
  // The last rows go until they are scrolled to; not while a page is on its way that follows them.
  if (loadedRows.length > ROWS_MAX && state !== 'loading') {
    loadedRows.length = ROWS_MAX;
    [endId, state] = [loadedRows.at(-1)?.id, 'partial'];
    becomeLarge();
  }
  refresh();
}

/** @returns {Row} */
const rowOf = (/** @type {Plant} */ plant) => ({ ...plant, key: folded(plant.name) });
