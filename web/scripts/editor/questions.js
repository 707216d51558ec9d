/** @import { Plant } from '../types.d.ts' */
import { byId, write } from '../dom.js';
import { cut, nodesOf } from '../texts.js';

/** Asks before a plant is deleted. */
export function confirmDeletion(/** @type {Plant} */ { id, name }, /** @type {() => void} */ remove) {
  const dialog = byId('confirm', HTMLDialogElement);
  write('confirm-name', `${id} `, ...nodesOf(cut(name)));
  dialog.returnValue = '';
  dialog.onclose = () => dialog.returnValue === 'delete' && remove();
  dialog.showModal();
}

/** Lets a button and Escape close the editor, and asks before edits are left. */
export function keepEdits(/** @type {HTMLDialogElement} */ dialog) {
  const isEdited = () => dialog.matches('.edited[open]');
  const close = () => (!isEdited() || window.confirm('Close without saving your changes?')) && dialog.close();
  byId('close', HTMLElement).onclick = close;
  // At a second Escape browsers close a dialog whatever its cancel event says.
  dialog.oncancel = () => false;
  addEventListener('keydown', ({ key, isComposing }) => {
    const isOnTop = dialog.open && !document.querySelector('#editor ~ dialog[open]');
    if (key === 'Escape' && !isComposing && isOnTop) close();
  });
  addEventListener('beforeunload', (event) => isEdited() && event.preventDefault());
}
