/** @import { Plant } from '../api.js' */
import { send } from '../api.js';
import { onClick, redraw, setState, write } from '../dom.js';
import { failed } from '../errors.js';
import { apply } from '../table/plants.js';
import { nodesOf } from '../texts.js';

/* What takes the last change back. A deletion waits, and is sent at once when the page is left; other changes are put back. */

/** Milliseconds during which a deletion can be undone. */
const UNDO_MS = 10_000;

/** The plants whose deletion waits or is on its way. */
const leaving = /** @type {Set<bigint>} */ (new Set());
let undo = /** @type {(() => void) | undefined} */ (undefined);
/** Sends the deletion that waits. */
export let sendDeletion = () => {};

export const isLeaving = (/** @type {bigint} */ id) => leaving.has(id);

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
export function remove(/** @type {Plant} */ { id, name }, /** @type {string} */ etag) {
  sendDeletion();
  const end = () => {
    leaving.delete(id);
    redraw();
  };
  const timer = setTimeout(() => sendDeletion(), UNDO_MS);
  const stop = () => {
    clearTimeout(timer);
    sendDeletion = () => {};
  };
  sendDeletion = () => {
    stop();
    say([]);
    const refused = ({ message = '', cause = 0 }) =>
      failed(new Error(`Plant ${id} was not deleted. ${message}`, { cause }));
    send('DELETE', `plants/${id}`, { ifMatch: etag })
      .then(() => apply([{ id, deleted: true }]), refused)
      .finally(end);
  };
  leaving.add(id);
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
