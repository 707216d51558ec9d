/** @import { Request } from './api.js' */
import { byId, latest, onClick, write } from './dom.js';
import { failed } from './errors.js';

/** Work of a dialog, whose elements have ids that begin with its own. */
export function workOf(/** @type {string} */ id) {
  const signals = latest();
  return {
    /** Stops what is not finished. */
    stop: () => void signals(),
    /** Does one thing, in place of what is not finished, and says how it fails. */
    async attempt(/** @type {(request: Request & { signal: AbortSignal }) => Promise<void>} */ work) {
      const signal = signals();
      for (const what of ['problem', 'trouble']) write(`${id}-${what}`);
      const trouble = (problem = '') => signal.aborted || write(`${id}-trouble`, problem);
      await work({ signal, trouble }).catch((error) => signal.aborted || failed(error, `${id}-problem`));
    },
  };
}

/**
 * A dialog of work that takes a while. While it is running, only its button stops it, and the browser asks before the page
 * is left.
 */
export function workDialog(/** @type {string} */ id) {
  const dialog = byId(id, HTMLDialogElement);
  const { stop, attempt } = workOf(id);
  onClick(`${id}-stop`, stop);
  onClick(`${id}-close`, () => dialog.close());
  // The event is late: the dialog may be open again.
  dialog.addEventListener('close', () => dialog.open || stop());
  addEventListener('beforeunload', (event) => dialog.matches('.running[open]') && event.preventDefault());

  return {
    dialog,
    bar: byId(`${id}-progress`, HTMLProgressElement),
    attempt,
    /** Opens the dialog in a state, which is a class of it. */
    show(/** @type {string} */ state, /** @type {string[]} */ ...classes) {
      dialog.className = [state, ...classes].join(' ');
      dialog.setAttribute('closedby', state === 'running' ? 'none' : 'closerequest');
      if (!dialog.open) dialog.showModal();
      // What had the focus may be gone.
      const controls = /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll('select, input, button'));
      [...controls].find((control) => control.checkVisibility())?.focus();
    },
  };
}
