/** @import { Request } from './api.js' */
import { byId, latest, onClick, write } from './dom.js';
import { failed } from './errors.js';

/**
 * A dialog of work that takes a while. Its elements have ids that begin with its own. While it is running, only its button
 * stops it, and the browser asks before the page is left.
 */
export function workDialog(/** @type {string} */ id) {
  const dialog = byId(id, HTMLDialogElement);
  const signals = latest();
  onClick(`${id}-stop`, signals);
  onClick(`${id}-close`, () => dialog.close());
  // The event is late: the dialog may be open again.
  dialog.addEventListener('close', () => dialog.open || signals());
  addEventListener('beforeunload', (event) => dialog.matches('.running[open]') && event.preventDefault());

  /** Stops what is not finished, and takes its words away. */
  function begin() {
    const signal = signals();
    const trouble = (problem = '') => signal.aborted || write(`${id}-trouble`, problem);
    for (const what of ['problem', 'trouble']) write(`${id}-${what}`);
    return { signal, trouble };
  }

  return {
    dialog,
    bar: byId(`${id}-progress`, HTMLProgressElement),
    stop: () => void signals(),
    begin,
    /** Does one thing, in place of what is not finished, and says how it fails. */
    async attempt(/** @type {(request: Request & { signal: AbortSignal }) => Promise<void>} */ work) {
      const request = begin();
      await work(request).catch((error) => request.signal.aborted || failed(error, `${id}-problem`));
    },
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
