/** @import { Failed, PlantList, Request } from '../types.d.ts' */
/** @import { Layout, List } from './types.d.ts' */
import { send } from '../api.js';
import { byId, make, write } from '../dom.js';
import { freeId, highestPlant } from '../free-id.js';
import { cut, nodesOf } from '../texts.js';
import { save, sizeOf } from './download-dialog.js';
import { dropZone } from './drop-zone.js';
import { addSameNames, fillForm, readForm } from './import-form.js';
import { importReport } from './import-report.js';
import { readBeginning } from './list-file.js';
import { LOOK, readLayout } from './list-layout.js';
import { listSender } from './list-sender.js';
import { rejectedList } from './rejected-list.js';

/**
 * The key of the first id of a list that was numbered: where names are not compared, its plants must get the same ids again.
 * By its name alone, since its author may have corrected it.
 */
const keyOf = (/** @type {File} */ { name }) => `plant-store-import ${name}`;

function firstIdOf(/** @type {File} */ file) {
  const id = sessionStorage.getItem(keyOf(file));
  return id === null ? undefined : BigInt(id);
}

/** The dialog that imports a list: one chooses it, says how it is to be read, and sees what becomes of it. */
export function importDialog(/** @type {PlantList} */ plants, /** @type {Failed} */ failed) {
  const [dialog, form] = [byId('import', HTMLDialogElement), byId('import-form', HTMLFormElement)];
  const [chosen, bar] = [byId('import-file', HTMLInputElement), byId('import-progress', HTMLProgressElement)];
  let list = /** @type {List | undefined} */ (undefined);
  let layout = /** @type {Layout} */ ({ columns: [], names: [], separator: ',', header: undefined, guessed: [] });
  /** Imports what is left of the list. */
  let proceed = /** @type {((request: Request) => Promise<void>) | undefined} */ (undefined);
  let leaving = new AbortController();

  function show(/** @type {'choosing' | 'looking' | 'running' | 'stopped' | 'finished'} */ state) {
    dialog.className = state;
    // Only its button stops an import.
    dialog.setAttribute('closedby', state === 'running' ? 'none' : 'closerequest');
    if (!dialog.open) dialog.showModal();
    // What had the focus may be gone.
    const controls = /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll('select, input, button'));
    Array.from(controls)
      .find((control) => control.checkVisibility())
      ?.focus();
  }

  /** Does one thing, in place of what is not finished, and says how it fails. */
  async function attempt(/** @type {(request: Request) => Promise<void>} */ work) {
    leaving.abort();
    leaving = new AbortController();
    const { signal } = leaving;
    const trouble = (problem = '') => signal.aborted || write('import-trouble', problem);
    for (const id of ['import-problem', 'import-trouble']) write(id);
    await work({ signal, trouble }).catch((error) => signal.aborted || failed(error, 'import-problem'));
  }

  const open = (/** @type {File[]} */ [file, ...others]) =>
    attempt(async (request) => {
      form.reset();
      [list, proceed] = [undefined, undefined];
      show('choosing');
      if (file === undefined) return;
      if (others.length > 0) throw new Error('Import one list after the other.');
      await prepare(await readBeginning(file, request), undefined, request);
    });

  /** Shows how a list will be read. @param {List} found @param {Layout | undefined} known @param {Request} request */
  async function prepare(found, known, request) {
    const { file } = found;
    const plant = await highestPlant(request);
    const free = await freeId(plant, request);
    // Who may change a plant may replace those that a list has.
    const read = plant && (await send('GET', `plants/${plant.id}`, request).catch(() => undefined));
    const own = known ?? (await readLayout(found, free, request));
    request.signal?.throwIfAborted();
    [list, layout] = [found, own];
    write('import-what', ...nodesOf(cut(file.name)), `, ${sizeOf(file.size)}`);
    form.className = read?.headers.get('Allow')?.includes('PUT') ? 'may-replace' : '';
    fillForm(list, layout, free);
    show('looking');
    look();
  }

  /** Shows the first plants as they will be. */
  const look = () =>
    attempt(async (request) => {
      write('import-plants');
      if (list === undefined) return;
      const how = readForm(list, layout);
      const report = importReport(list);
      if (!form.reportValidity()) return;
      const sender = listSender({ ...how, query: { ...how.query, check: 'true' } }, LOOK);
      let part = await sender.next(request);
      while (part?.records === 0) part = await sender.next(request);
      if (part === undefined) throw new Error('This list has no plants.');
      if (part.compared === false) {
        addSameNames(firstIdOf(list.file));
        return void look();
      }
      report(part);
      write('import-beginning', sender.progress() < 1 ? 'At its beginning: ' : '');
      const rows = (part.sample ?? []).map(({ id, name, tag }) => {
        const cells = [[`${id}`], nodesOf(cut(name)), tag === undefined ? [] : nodesOf(cut(tag))];
        return make('tr', {}, ...cells.map((nodes) => make('td', {}, ...nodes)));
      });
      write('import-plants', ...rows);
    });

  function importOf(/** @type {List} */ list) {
    const { name } = list.file;
    const how = readForm(list, layout);
    const [sender, report, rejected] = [listSender(how), importReport(list), rejectedList(how)];
    if (how.idsFrom !== undefined) sessionStorage.setItem(keyOf(list.file), `${how.idsFrom}`);
    const saveRejected = (/** @type {Blob} */ blob) => save(blob, `${name}.rejected.${list.isCsv ? 'csv' : 'ndjson'}`);
    byId('import-rejected', HTMLElement).onclick = () => saveRejected(rejected.blob());
    byId('import-number', HTMLElement).onclick = () => {
      // The list of those has no more of the others, which may not have been downloaded.
      const others = rejected.others();
      if (others) saveRejected(others);
      const columns = how.columns.map((column) => (column === 'id' ? '' : column));
      attempt((request) =>
        prepare(rejected.unnumbered(), { ...layout, columns, header: undefined, guessed: [] }, request),
      );
    };
    return async (/** @type {Request} */ request) => {
      show('running');
      try {
        for (;;) {
          bar.value = sender.progress();
          const part = await sender.next(request);
          if (part === undefined) break;
          report(part);
          rejected.add(part);
        }
        form.classList.toggle('has-unnumbered', rejected.unnumbered().file.size > 0);
        show('finished');
      } catch (error) {
        show('stopped');
        throw error;
      } finally {
        plants.show(plants.view());
      }
    };
  }

  form.onchange = ({ target }) => target === chosen || look();
  chosen.onchange = () => open([...(chosen.files ?? [])]);
  form.onsubmit = (event) => {
    event.preventDefault();
    if (dialog.className === 'looking' && list) proceed = importOf(list);
    if (proceed) attempt(proceed);
  };
  byId('import-stop', HTMLElement).onclick = () => leaving.abort();
  byId('import-close', HTMLElement).onclick = () => dialog.close();
  byId('import-list', HTMLElement).onclick = () => open([]);
  // The event is late: a list that was dropped in the meantime has opened the dialog again.
  dialog.onclose = () => dialog.open || leaving.abort();

  dropZone(() => dialog.className !== 'running', open);
  addEventListener('beforeunload', (event) => dialog.className === 'running' && event.preventDefault());
}
