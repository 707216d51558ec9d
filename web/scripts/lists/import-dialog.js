/** @import { Failed, Request } from '../api.js' */
/** @import { PlantList } from '../table/plants.js' */
/** @import { Layout, List, Reading } from './types.d.ts' */
import { folded, plantIn } from '../../../src/lists/records.js';
import { send } from '../api.js';
import { byId, make, write } from '../dom.js';
import { freeId, highestPlant } from '../free-id.js';
import { nodesOf } from '../texts.js';
import { save, sizeOf } from './download-dialog.js';
import { dropZone } from './drop-zone.js';
import { addSameNames, fillForm, readForm, skipsNames } from './import-form.js';
import { importReport } from './import-report.js';
import { layoutOf, readList, recordsOf } from './list-reader.js';
import { listSender, storedNames } from './list-sender.js';

/** Plants that are shown. */
const SHOWN = 5;

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
  const encoding = byId('import-encoding', HTMLSelectElement);
  let list = /** @type {List | undefined} */ (undefined);
  let layout = /** @type {Layout | undefined} */ (undefined);
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
      await prepare(file, undefined, request);
    });

  /** Shows how a list will be read. @param {File} file @param {string | undefined} encoding @param {Request} request */
  async function prepare(file, encoding, request) {
    const found = await readList(file, encoding);
    const own = found.isJson ? undefined : layoutOf(found.text);
    const plant = await highestPlant(request);
    const free = await freeId(plant, request);
    // Who may change a plant may replace those that a list has.
    const read = plant && (await send('GET', `plants/${plant.id}`, request).catch(() => undefined));
    request.signal?.throwIfAborted();
    [list, layout] = [found, own];
    write('import-what', ...nodesOf(file.name), `, ${sizeOf(file.size)}, ${found.encoding}`);
    form.className = read?.headers.get('Allow')?.includes('PUT') ? 'may-replace' : '';
    fillForm(found, own, free);
    show('looking');
    look();
  }

  /** How the list is to be read and stored, also which plants are left out. @param {Request} request */
  async function reading(request) {
    const how = list && readForm(list, layout);
    if (!list || !how || !skipsNames()) return how;
    const names = await storedNames(request);
    if (names !== undefined) return { ...how, names };
    addSameNames(firstIdOf(list.file));
    return readForm(list, layout);
  }

  const unused = (/** @type {Reading} */ { layout: own }) =>
    own?.names.filter((name, n) => name !== '' && own.header > 0 && ![own.id, own.tag, ...own.name].includes(n)) ?? [];

  /** Shows the first plants as they will be. */
  const look = () =>
    attempt(async (request) => {
      write('import-plants');
      const how = await reading(request);
      if (how === undefined) return;
      const sender = listSender(how, true);
      const outcome = await sender.next(request);
      if (outcome === undefined) throw new Error('This list has no plants.');
      importReport(unused(how))(outcome);
      write('import-beginning', outcome.records < 1_000 ? '' : 'At its beginning: ');
      const known = new Set(how.names);
      const first = recordsOf(how).filter(({ name = '' }) => !known.has(folded(name)));
      const rows = [...first.flatMap(plantIn).take(SHOWN)].map(({ id, name, tag }) => {
        const cells = [[`${id}`], nodesOf(name), tag === undefined ? [] : nodesOf(tag)];
        return make('tr', {}, ...cells.map((nodes) => make('td', {}, ...nodes)));
      });
      write('import-plants', ...rows);
    });

  /** @param {List} list @param {Reading} how */
  function importOf({ file }, how) {
    const [sender, report] = [listSender(how, false), importReport(unused(how))];
    const rejected = /** @type {Blob[]} */ ([]);
    if (how.idsFrom !== undefined) sessionStorage.setItem(keyOf(file), `${how.idsFrom}`);
    byId('import-rejected', HTMLElement).onclick = () => {
      const head = how.layout ? `\uFEFF${how.layout.head}` : '';
      save(new Blob([head, ...rejected]), `${file.name}.rejected.${how.layout ? 'csv' : 'ndjson'}`);
    };
    return async (/** @type {Request} */ request) => {
      show('running');
      try {
        for (;;) {
          bar.value = sender.progress();
          const outcome = await sender.next(request);
          if (outcome === undefined) break;
          report(outcome);
          // A Blob for each batch: browsers keep them outside of the page's memory.
          const texts = outcome.refused.map(({ raw }) => (raw.endsWith('\n') ? raw : `${raw}\n`));
          if (texts.length > 0) rejected.push(new Blob(texts));
        }
        show('finished');
      } catch (error) {
        show('stopped');
        throw error;
      } finally {
        plants.reload();
      }
    };
  }

  form.onchange = ({ target }) => {
    if (target === encoding && list) {
      const { file } = list;
      attempt((request) => prepare(file, encoding.value, request));
    } else if (target !== chosen) look();
  };
  chosen.onchange = () => open([...(chosen.files ?? [])]);
  form.onsubmit = (event) => {
    event.preventDefault();
    const isNew = dialog.className === 'looking';
    attempt(async (request) => {
      const how = isNew ? await reading(request) : undefined;
      if (how) proceed = importOf(how.list, how);
      await proceed?.(request);
    });
  };
  byId('import-stop', HTMLElement).onclick = () => leaving.abort();
  byId('import-close', HTMLElement).onclick = () => dialog.close();
  byId('import-list', HTMLElement).onclick = () => open([]);
  // The event is late: a list that was dropped in the meantime has opened the dialog again.
  dialog.onclose = () => dialog.open || leaving.abort();

  dropZone(() => dialog.className !== 'running', open);
  addEventListener('beforeunload', (event) => dialog.className === 'running' && event.preventDefault());
}
