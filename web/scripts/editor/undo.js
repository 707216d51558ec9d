/** @import { Change, Failed, Plant } from '../api.js' */
import { send } from '../api.js';
import { onClick, write } from '../dom.js';
import { nodesOf } from '../texts.js';

/** Milliseconds during which a deletion can be undone. */
const TIME = 10_000;

/**
 * What takes the last change back. A deletion waits, and is sent at once when the page is left; other changes are put back.
 *
 * @param {{ apply(changes: Change[]): void, updated(): void, failed: Failed }} events
 */
export function undoing({ apply, updated, failed }) {
  /** The plants whose deletion waits or is on its way. */
  const leaving = /** @type {Set<bigint>} */ (new Set());
  let undo = /** @type {(() => void) | undefined} */ (undefined);
  let sendDeletion = () => {};

  /** Says what was done, and offers to undo it. */
  function say(/** @type {(Node | string)[]} */ words, /** @type {(() => void)=} */ how = undefined) {
    write('done', ...words);
    undo = how;
    document.body.classList.toggle('may-undo', how !== undefined);
  }

  function takeBack() {
    const act = undo;
    say([]);
    act?.();
  }

  /** Deletes a plant in ten seconds, if it still is what was shown. */
  function remove(/** @type {Plant} */ { id, name }, /** @type {string} */ etag) {
    sendDeletion();
    const end = () => {
      leaving.delete(id);
      updated();
    };
    const timer = setTimeout(() => sendDeletion(), TIME);
    const stop = () => {
      clearTimeout(timer);
      sendDeletion = () => {};
    };
    sendDeletion = () => {
      stop();
      say([]);
      const sent = send('DELETE', `plants/${id}`, { ifMatch: etag, keepalive: true });
      const refused = ({ message = '', cause = 0 }) =>
        failed(new Error(`Plant ${id} was not deleted. ${message}`, { cause }));
      sent.then(() => apply([{ id, deleted: true }]), refused).finally(end);
    };
    leaving.add(id);
    say([`${id} `, ...nodesOf(name), ' will be deleted in ten seconds.'], () => {
      stop();
      end();
    });
    updated();
  }

  onClick('undo', takeBack);
  addEventListener('keydown', (event) => {
    const isUndo = event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    const isInText = event.target instanceof Element && event.target.closest('#limits, dialog');
    if (!isUndo || isInText || undo === undefined) return;
    event.preventDefault();
    takeBack();
  });
  addEventListener('pagehide', () => sendDeletion());

  return {
    say,
    remove,
    isLeaving: (/** @type {bigint} */ id) => leaving.has(id),
    /** Sends a deletion that waits. */
    leave: () => sendDeletion(),
  };
}
