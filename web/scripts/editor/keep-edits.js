import { onClick } from '../dom.js';

/** Lets a button and Escape close the editor, and asks before edits are left. */
export function keepEdits(/** @type {HTMLDialogElement} */ dialog) {
  const isEdited = () => dialog.matches('.edited[open]');
  const close = () => {
    if (!isEdited() || window.confirm('Close without saving your changes?')) dialog.close();
  };
  onClick('close', close);
  // At a second Escape browsers close a dialog whatever its cancel event says.
  dialog.oncancel = () => false;
  addEventListener('keydown', ({ key, isComposing }) => {
    const isOnTop = dialog.open && !document.querySelector('#editor ~ dialog[open]');
    if (key === 'Escape' && !isComposing && isOnTop) close();
  });
  addEventListener('beforeunload', (event) => isEdited() && event.preventDefault());
}
