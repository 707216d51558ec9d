/** @import { Failed, Request } from '../api.js' */
/** @import { PlantList } from '../table/plants.js' */
/** @import { Chosen, List, Reading } from './list-reader.js' */
import { send } from '../api.js';
import { byId, onClick, write } from '../dom.js';
import { freeId, highestPlant } from '../free-id.js';
import { nodesOf } from '../texts.js';
import { workDialog } from '../work-dialog.js';
import { sizeOf } from './download-dialog.js';
import { onDrop } from './drop.js';
import { addSameNames, fillForm, readForm, skipsNames } from './import-form.js';
import { importReport } from './import-report.js';
import { readList } from './list-reader.js';
import { listSender, storedNames } from './list-sender.js';

/** Batches of a list that are checked before it is imported. */
const MAX_CHECKED = 20;

/**
 * Where the first id of a list that was numbered is kept: where names are not compared, its plants must get the same ids
 * again. By its name alone, since its author may have corrected it.
 */
const keyOf = (/** @type {List} */ { file }) => `plant-store-import ${file.name}`;

/**
 * The dialog that imports a list: one chooses it, says how it is to be read, and sees what becomes of it.
 *
 * @param {PlantList} plants
 * @param {{ failed: Failed, select(ids: Set<bigint>): void }} events
 */
export function importDialog(plants, { failed, select }) {
  const { dialog, bar, begin, show, stop, isRunning } = workDialog('import');
  const [form, chosen] = [byId('import-form', HTMLFormElement), byId('import-file', HTMLInputElement)];
  const [encoding, sheet] = [byId('import-encoding', HTMLSelectElement), byId('import-sheet', HTMLSelectElement)];
  const replaces = byId('import-replace', HTMLInputElement);
  let list = /** @type {List | undefined} */ (undefined);
  /** Imports what is left of the list. */
  let proceed = /** @type {((request: Request) => Promise<void>) | undefined} */ (undefined);
  /** The name of a list with ids that was imported: once it is corrected, its plants are replaced. */
  let imported = '';

  /** Does one thing, in place of what is not finished, and says how it fails. */
  async function attempt(/** @type {(request: Request) => Promise<void>} */ work) {
    const request = begin();
    await work(request).catch((error) => request.signal.aborted || failed(error, 'import-problem'));
  }

  const open = (/** @type {FileList} */ files) =>
    attempt(async (request) => {
      const [file, ...others] = files;
      chosen.files = files;
      replaces.checked = file?.name === imported;
      [list, proceed] = [undefined, undefined];
      show('choosing');
      if (others.length > 0) throw new Error('Import one list after the other.');
      if (file) await prepare(file, {}, request);
    });

  /** Shows how a list will be read. @param {File} file @param {Chosen} said @param {Request} request */
  async function prepare(file, said, request) {
    const found = await readList(file, said);
    const plant = await highestPlant(request);
    const free = await freeId(plant, request);
    // Who may change a plant may replace those that a list has.
    const read = plant && (await send('GET', `plants/${plant.id}`, request).catch(() => undefined));
    request.signal?.throwIfAborted();
    list = found;
    const facts = [sizeOf(file.size), found.encoding].filter(Boolean);
    write('import-what', ...nodesOf(file.name), `, ${facts.join(', ')}`);
    const mayReplace = read?.headers.get('Allow')?.includes('PUT') ?? false;
    form.className = mayReplace ? 'may-replace' : '';
    replaces.checked &&= mayReplace;
    fillForm(found, free);
    show('looking');
    void look();
  }

  /** How the list is to be read and stored, also which plants are left out. @param {Request} request */
  async function reading(request) {
    const how = list && readForm(list);
    if (!list || !how || !skipsNames()) return how;
    const names = await storedNames(request);
    if (names !== undefined) return { ...how, names };
    addSameNames(sessionStorage.getItem(keyOf(list)));
    return readForm(list);
  }

  /** Shows the first plants as they will be, and what will become of the list. */
  const look = () =>
    attempt(async (request) => {
      write('import-plants');
      const how = await reading(request);
      if (how === undefined) return;
      const [sender, report] = [listSender(how, true), importReport(how)];
      for (let count = 0; ; count++) {
        const outcome = count < MAX_CHECKED ? await sender.next(request) : undefined;
        if (outcome === undefined && count === 0) throw new Error('This list has no plants.');
        write('import-beginning', outcome || count === MAX_CHECKED ? 'At its beginning: ' : '');
        if (outcome === undefined) return;
        report.add(outcome);
      }
    });

  function importOf(/** @type {Reading} */ how) {
    const { idsFrom, list: own } = how;
    const [sender, report, before] = [listSender(how, false), importReport(how), plants.ids()];
    if (idsFrom !== undefined) sessionStorage.setItem(keyOf(own), `${idsFrom}`);
    onClick('import-select', () => {
      dialog.close();
      select(report.stored.difference(before ?? new Set()));
    });
    return async (/** @type {Request} */ request) => {
      show('running');
      try {
        for (;;) {
          bar.value = sender.progress();
          const outcome = await sender.next(request);
          if (outcome === undefined) break;
          report.add(outcome);
        }
        imported = idsFrom === undefined ? own.file.name : '';
        form.classList.toggle('has-new', before !== undefined && report.stored.isSubsetOf(before) === false);
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
    if (target === chosen && chosen.files) return void open(chosen.files);
    if (!list || (target !== encoding && target !== sheet)) return void look();
    const { file } = list;
    void attempt((request) =>
      prepare(file, { encoding: encoding.value, sheet: sheet.value }, request).finally(() => {
        encoding.value = list?.encoding ?? '';
      }),
    );
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    const isNew = dialog.className === 'looking';
    void attempt(async (request) => {
      const how = isNew ? await reading(request) : undefined;
      if (how) proceed = importOf(how);
      await proceed?.(request);
    });
  };
  onClick('import-again', () => chosen.click());
  onClick('import-list', () => open(new DataTransfer().files));
  // The event is late: a list that was dropped in the meantime has opened the dialog again.
  dialog.onclose = () => dialog.open || stop();

  /** Whether a list can be dropped now: no dialog is open but this one, where nothing runs. */
  const canDrop = () => document.body.matches('.may-create:not(:has(dialog[open]:not(#import)))') && !isRunning();
  onDrop(canDrop, open);
}
