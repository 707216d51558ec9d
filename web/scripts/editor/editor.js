/** @import { Plant, Request } from '../api.js' */
import { send } from '../api.js';
import { byId, onClick, write } from '../dom.js';
import { freeId, newId } from '../ids.js';
import * as fields from '../table/fields.js';
import * as list from '../table/plants.js';
import { choose } from '../table/table.js';
import { view } from '../table/view.js';
import { offerTags } from '../tag-choices.js';
import { nodesOf } from '../texts.js';
import { workOf } from '../work-dialog.js';
import { offerBack } from './several.js';
import { saveByEnter, textField } from './text-field.js';
import { removeLater, store } from './undo.js';

/* The dialog that adds, changes and deletes a plant. */

const [dialog, form] = [byId('editor', HTMLDialogElement), byId('plant', HTMLFormElement)];
const idField = byId('plant-id', HTMLInputElement);
const [name, tag] = [textField('plant-name', 1_000), textField('plant-tag', 200)];
/** The plant as it was last read; undefined while a plant is added. */
let storedPlant = /** @type {Plant | undefined} */ (undefined);
let etag = '';
let maySave = true;
const work = workOf('editor');

function show(/** @type {Plant | undefined} */ plant, firstTag = plant?.tag) {
  for (const what of ['problem', 'done']) write(`editor-${what}`);
  storedPlant = plant;
  dialog.className = plant === undefined ? 'adding' : '';
  write('editor-title', plant ? `${maySave ? 'Change plant' : 'Plant'} ${plant.id}` : 'Add a plant');
  [idField.value, idField.placeholder] = ['', ''];
  name.fill(plant?.name);
  // An emptied name is probably a mistake. A plant whose name is already empty may keep it.
  byId('plant-name', HTMLTextAreaElement).required = plant?.name !== '';
  tag.fill(firstTag);
  lock(false);
  if (dialog.open) name.focus();
  else dialog.showModal();
}

/** While a request is under way, nothing can be typed: the dialog closes once it succeeds. */
function lock(/** @type {boolean} */ isLocked) {
  for (const field of form.querySelectorAll('textarea')) field.readOnly = isLocked || !maySave;
  idField.readOnly = isLocked;
  byId('take-theirs', HTMLButtonElement).disabled = isLocked;
  byId('save', HTMLButtonElement).disabled = !maySave;
}

async function read(/** @type {bigint} */ id, /** @type {Request} */ request) {
  const { body, headers } = await send('GET', `plants/${id}`, request);
  etag = headers.get('ETag') ?? '';
  maySave = headers.get('Allow')?.includes('PUT') ?? false;
  return /** @type {Plant} */ (body);
}

/** What follows a missing permission, and a plant that somebody else has changed. */
async function react(/** @type {Error} */ error, /** @type {Request} */ request) {
  if (error.cause === 40300) maySave = false;
  if (error.cause === 41200 && storedPlant) {
    storedPlant = await read(storedPlant.id, request);
    name.compare(storedPlant.name);
    tag.compare(storedPlant.tag);
    dialog.classList.add('comparing');
  }
  throw error;
}

/** Does one thing, while nothing can be typed, and says how it fails. */
const attempt = (/** @type {(request: Request) => Promise<void>} */ act, isLocking = true) =>
  work.attempt(async (request) => {
    lock(isLocking);
    const result = act(request).catch((error) => react(error, request));
    await result.finally(() => request.signal.aborted || lock(false));
  });

/** Saves the plant, says so, and then calls `finish`. */
const save = (/** @type {(plant: Plant) => void} */ finish) =>
  attempt(async (request) => {
    const texts = { name: name.text() ?? '', tag: tag.text() };
    const plant = { id: storedPlant?.id ?? (await newId(idField.value, request)), ...texts };
    const newEtag = await store(plant, { ...request, ifMatch: storedPlant && etag });
    if (!storedPlant) reveal(plant.id);
    const words = [`${storedPlant ? 'Changed' : 'Added'} ${plant.id} `, ...nodesOf(plant.name)];
    offerBack(words, storedPlant ? [{ ...storedPlant, etag: newEtag }] : []);
    finish(plant);
  });

/** Shows a new plant, though the table would not have it. */
function reveal(/** @type {bigint} */ id) {
  if (list.indexOf(id) < 0) fields.show(list.isLarge() ? { name: `${id}` } : { order: view().order });
  choose(id);
}

/** @param firstTag the one of the plant that was added before */
export function add(/** @type {string | undefined} */ firstTag = undefined) {
  maySave = true;
  show(undefined, firstTag);
  void attempt(async (request) => {
    idField.placeholder = `${await freeId(request)}`;
  }, false);
}

export function open(/** @type {bigint} */ id) {
  show(undefined);
  dialog.className = 'loading';
  write('editor-title', `Plant ${id}`);
  void attempt(async (request) => show(await read(id, request)));
}

const isEdited = () => dialog.matches('.edited[open]');

/** Asks before edits are left. */
function close() {
  if (!isEdited() || window.confirm('Close without saving your changes?')) dialog.close();
}

form.onsubmit = (event) => {
  event.preventDefault();
  void save(() => dialog.close());
};
onClick('another', () => {
  if (!form.reportValidity()) return;
  void save((plant) => {
    add(plant.tag);
    write('editor-done', `Added ${plant.id} `, ...nodesOf(plant.name));
  });
});
form.oninput = () => dialog.classList.add('edited');
onClick('delete', () => {
  dialog.close();
  if (storedPlant) removeLater(storedPlant, etag);
});
onClick('take-theirs', () => show(storedPlant));
onClick('close', close);
offerTags(byId('plant-tag', HTMLTextAreaElement));
saveByEnter(form);
// The close event comes so late that it would meet the request of a plant that is opened next.
dialog.onbeforetoggle = work.stop;
// At a second Escape browsers close a dialog whatever its cancel event says.
dialog.oncancel = () => false;
addEventListener('keydown', ({ key, isComposing }) => {
  const isOnTop = dialog.open && !document.querySelector('#editor ~ dialog[open]');
  if (key === 'Escape' && !isComposing && isOnTop) close();
});
addEventListener('beforeunload', (event) => isEdited() && event.preventDefault());
