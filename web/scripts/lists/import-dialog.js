/** @import { Request } from '../api.js' */
/** @import { List, Reading } from './list-reader.js' */
import { byId, onClick, write } from '../dom.js';
import { freeId } from '../ids.js';
import * as fields from '../table/fields.js';
import * as plants from '../table/plants.js';
import * as selection from '../table/selection.js';
import { workDialog } from '../work-dialog.js';
import { onDrop } from './files.js';
import { fillForm, readForm } from './import-form.js';
import { clearReport, importReport } from './import-report.js';
import { readList } from './list-reader.js';
import { listSender } from './list-sender.js';

/* The dialog that imports a list: one chooses it, says how it is to be read, and sees what becomes of it. */

/** Batches of a list that are checked before it is imported. */
const BATCHES_MAX = 20;

const { attempt, dialog, bar, show } = workDialog('import');
const [form, input] = [byId('import-form', HTMLFormElement), byId('import-file', HTMLInputElement)];
const variant = byId('import-variant', HTMLSelectElement);
const replaces = byId('import-replace', HTMLInputElement);
let list = /** @type {List | undefined} */ (undefined);
/** Imports what is left of the list. */
let proceed = /** @type {((request: Request) => Promise<void>) | undefined} */ (undefined);
/** The name of a list with ids that was imported: once it is corrected, its plants are replaced. */
let importedName = '';

const open = (/** @type {FileList} */ files) =>
  attempt(async (request) => {
    input.files = files;
    replaces.checked = files[0]?.name === importedName;
    variant.replaceChildren();
    show('asking');
    if (files.length > 1) throw new Error('Import one list after the other.');
    await prepare(request);
  });

/** Reads the list as the menu says, and shows what it may be. */
async function prepare(/** @type {Request} */ request) {
  [list, proceed] = [undefined, undefined];
  clearReport();
  const [file] = input.files ?? [];
  if (!file) return;
  const newList = await readList(file, variant.value);
  const firstId = await freeId(request);
  request.signal?.throwIfAborted();
  list = newList;
  fillForm(newList, firstId);
  show('looking');
  void look();
}

/** Shows the first plants as they will be, and what will become of the list. */
const look = () =>
  attempt(async (request) => {
    clearReport();
    const reading = list && readForm(list);
    if (reading === undefined) return;
    const sender = listSender(reading, true, importReport(reading).add);
    write('import-beginning', 'At its beginning: ');
    let count = 0;
    while (count < BATCHES_MAX && (await sender.next(request))) count++;
    if (count === 0) throw new Error('This list has no plants.');
    if (count < BATCHES_MAX) write('import-beginning');
  });

function importOf(/** @type {Reading} */ reading) {
  const [report, before] = [importReport(reading), plants.ids()];
  const sender = listSender(reading, false, report.add);
  const createdIds = () => report.storedIds.difference(before ?? report.storedIds);
  onClick('import-select', () => {
    dialog.close();
    fields.show({});
    selection.replace(createdIds());
  });
  return async (/** @type {Request} */ request) => {
    show('running');
    try {
      do bar.value = sender.progress();
      while (await sender.next(request));
      importedName = reading.idsFrom === undefined ? reading.list.file.name : '';
      byId('import-select', HTMLButtonElement).hidden = createdIds().size === 0;
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
  if (target === input && input.files) void open(input.files);
  else if (list && target !== variant) void look();
  else void attempt(prepare);
};
form.onsubmit = (event) => {
  event.preventDefault();
  void attempt(async (request) => {
    const isNew = dialog.matches('.looking');
    // It could not be read in the encoding that was chosen.
    if (isNew && !list) return prepare(request);
    const reading = isNew && list && readForm(list);
    if (reading) proceed = importOf(reading);
    await proceed?.(request);
  });
};
onClick('import-again', () => input.click());
onClick('import-list', () => open(new DataTransfer().files));

// A list can be dropped where no dialog is open but this one, in which nothing runs.
onDrop(() => document.body.matches('.may-create:not(:has(dialog[open]:not(#import:not(.running))))'), open);
