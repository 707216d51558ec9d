import { make } from '../dom.js';

/* Files that people drop on the page, and files that it saves. */

/** Takes files that are dropped anywhere on the page: the browser would show them in place of it. */
export function onDrop(/** @type {() => boolean} */ canDrop, /** @type {(files: FileList) => void} */ take) {
  for (const type of /** @type {const} */ (['dragover', 'dragleave', 'drop'])) {
    addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = canDrop() ? 'copy' : 'none';
      document.body.classList.toggle('dropping', type === 'dragover' && canDrop());
      if (type === 'drop' && canDrop()) take(event.dataTransfer.files);
    });
  }
}

/** Has the browser save this, as it saves downloads. */
export function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const href = URL.createObjectURL(blob);
  make('a', { href, download: name }).click();
  // Some browsers ask where to before they read it.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
