/**
 * Takes lists that are dropped on the page, unless a dialog is open that is not the import's.
 *
 * @param {() => boolean} isFree whether another list can be taken now
 * @param {(files: File[]) => void} take
 */
export function dropZone(isFree, take) {
  const canDrop = () => document.body.matches('.may-create:not(:has(dialog[open]:not(#import)))') && isFree();
  for (const type of /** @type {const} */ (['dragover', 'dragleave', 'drop'])) {
    // Anywhere: the browser would show the list in place of this page.
    addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = canDrop() ? 'copy' : 'none';
      document.body.classList.toggle('dropping', type === 'dragover' && canDrop());
      if (type === 'drop' && canDrop()) take([...event.dataTransfer.files]);
    });
  }
}
