/** @import { Plant, Request } from '../api.js' */
import { send } from '../api.js';
import { onClick, redraw, setState, write } from '../dom.js';
import { failed } from '../errors.js';
import { apply } from '../table/plants.js';
import { nodesOf } from '../texts.js';

/*
 * Changes plants, and undoes the last change. A deletion waits until it cannot be undone any more, or until the page is left;
 * after other changes, the former plants are put back.
 */

/** Milliseconds during which a deletion can be undone. */
const UNDO_MS_MAX = 10_000;

/** The plants whose deletion waits or is on its way. */
const leavingIds = /** @type {Set<bigint>} */ (new Set());
let undo = /** @type {(() => void) | undefined} */ (undefined);
/** Sends the deletion that waits. */
export let sendDeletion = () => {};

export const isLeaving = (/** @type {bigint} */ id) => leavingIds.has(id);

/** Stores a plant that has the ETag of the request, or a new one without an ETag. @returns {Promise<string>} its new ETag */
export async function store(/** @type {Plant} */ { id, name, tag }, /** @type {Request} */ request) {
  const body = JSON.stringify({ name, tag });
  const { headers } = await (request.ifMatch === undefined
    ? send('POST', 'plants', { ...request, body: `{"id":${id},${body.slice(1)}` })
    : send('PUT', `plants/${id}`, { ...request, body }));
  apply([{ id, name, tag }]);
  return headers.get('ETag') ?? '';
}

/** Deletes a plant that has the ETag of the request. */
export async function remove(/** @type {bigint} */ id, /** @type {Request} */ request) {
  await send('DELETE', `plants/${id}`, request);
  apply([{ id, deleted: true }]);
}

/** Says what was done, and offers to undo it. */
export function say(/** @type {(Node | string)[]} */ words, /** @type {(() => void)=} */ how = undefined) {
  write('done', ...words);
  undo = how;
  setState('may-undo', how !== undefined);
}

function takeBack() {
  const act = undo;
  say([]);
  act?.();
}

/** Deletes a plant in ten seconds, if it still is what was shown. */
export function removeLater(/** @type {Plant} */ { id, name }, /** @type {string} */ etag) {
  sendDeletion();
  const end = () => {
    leavingIds.delete(id);
    redraw();
  };
  const timer = setTimeout(() => sendDeletion(), UNDO_MS_MAX);
  const stop = () => {
    clearTimeout(timer);
    sendDeletion = () => {};
  };
  sendDeletion = () => {
    stop();
    say([]);
    const report = ({ message = '', cause = 0 }) =>
      failed(new Error(`Plant ${id} was not deleted. ${message}`, { cause }));
    remove(id, { ifMatch: etag }).catch(report).finally(end);
  };
  leavingIds.add(id);
  say([`${id} `, ...nodesOf(name), ' will be deleted in ten seconds.'], () => {
    stop();
    end();
  });
  redraw();
}

onClick('undo', takeBack);
addEventListener('pagehide', () => sendDeletion());
addEventListener('keydown', (event) => {
  const isUndo = event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  const isInText = event.target instanceof Element && event.target.closest('#limits, dialog');
  if (!isUndo || isInText || undo === undefined) return;
  event.preventDefault();
  takeBack();
});
