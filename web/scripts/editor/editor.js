/** @import { Failed, Plant, Request } from '../api.js' */
/** @import { TagChoices } from '../tag-choices.js' */
/** @import { Former } from './several.js' */
import { put, send } from '../api.js';
import { byId, latest, onClick, write } from '../dom.js';
import { nodesOf } from '../texts.js';
import { keepEdits } from './keep-edits.js';
import { newPlants } from './new-plant.js';
import { saveByEnter, textField } from './text-field.js';

/** The dialog that adds, changes and deletes a plant. */
export function plantEditor(
  /** @type {TagChoices} */ choices,
  /** @type {{ done(plant: Plant, former?: Former): void, remove(plant: Plant, etag: string): void, failed: Failed }} */ events,
) {
  const [dialog, form] = [byId('editor', HTMLDialogElement), byId('plant', HTMLFormElement)];
  const id = byId('plant-id', HTMLInputElement);
  const [name, tag] = [textField('plant-name', 1_000), textField('plant-tag', 200)];
  const offerTags = choices.offer('plant-tags', byId('plant-tag', HTMLTextAreaElement));
  /** The plant as it was last read; undefined while a plant is added. */
  let stored = /** @type {Plant | undefined} */ (undefined);
  let etag = '';
  let maySave = true;
  const attempts = latest();
  const newPlant = newPlants(id);
  const say = (problem = '') => write('editor-problem', problem);

  function show(/** @type {Plant | undefined} */ plant, firstTag = plant?.tag) {
    say();
    write('editor-done');
    stored = plant;
    dialog.className = plant === undefined ? 'adding' : '';
    write('editor-title', plant ? `${maySave ? 'Change plant' : 'Plant'} ${plant.id}` : 'Add a plant');
    id.value = `${plant?.id ?? ''}`;
    name.fill(plant?.name);
    // An emptied name is probably a mistake. A plant whose name is already empty may keep it.
    byId('plant-name', HTMLTextAreaElement).required = plant?.name !== '';
    tag.fill(firstTag);
    offerTags();
    lock(false);
    if (dialog.open) name.focus();
    else dialog.showModal();
  }

  /** While a request is under way, nothing can be typed: the dialog closes once it succeeds. */
  function lock(/** @type {boolean} */ isLocked) {
    for (const field of form.querySelectorAll('textarea')) field.readOnly = isLocked || !maySave;
    id.readOnly = isLocked || stored !== undefined;
    byId('take-theirs', HTMLButtonElement).disabled = isLocked;
    byId('save', HTMLButtonElement).disabled = !maySave;
    dialog.classList.toggle('may-delete', maySave && stored !== undefined);
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
    if (error.cause === 41200 && stored) {
      stored = await read(stored.id, request);
      name.compare(stored.name);
      tag.compare(stored.tag);
      dialog.classList.add('comparing');
    }
    throw error;
  }

  /** Does one thing, in place of what is not finished, and says how it fails. */
  async function attempt(/** @type {(request: Request) => Promise<void>} */ work) {
    const request = { signal: attempts(), trouble: say };
    say();
    lock(true);
    try {
      await work(request).catch((error) => react(error, request));
    } catch (error) {
      if (request.signal.aborted) return;
      lock(false);
      events.failed(error, 'editor-problem');
    }
  }

  /** Saves the plant, and says so where `finish` leads. */
  const submit = (/** @type {(plant: Plant) => void} */ finish) =>
    attempt(async (request) => {
      const texts = { name: name.text() ?? '', tag: tag.text() };
      const plant = { id: stored?.id ?? (await newPlant.add(texts, request)), ...texts };
      const former = stored && { ...stored, etag: await put(plant, { ...request, ifMatch: etag }) };
      events.done(plant, former);
      finish(plant);
    });

  form.onsubmit = (event) => {
    event.preventDefault();
    submit(() => dialog.close());
  };
  onClick('another', () => {
    if (!form.reportValidity()) return;
    submit((plant) => {
      add(plant.tag);
      write('editor-done', `Added ${plant.id} `, ...nodesOf(plant.name));
    });
  });
  form.oninput = () => dialog.classList.add('edited');
  onClick('delete', () => {
    dialog.close();
    if (stored) events.remove(stored, etag);
  });
  onClick('take-theirs', () => show(stored));

  saveByEnter(form);
  keepEdits(dialog);
  // The close event comes so late that it would meet the request of a plant that is opened next.
  dialog.onbeforetoggle = () => attempts();

  /** @param firstTag the one of the plant that was added before */
  function add(/** @type {string | undefined} */ firstTag) {
    maySave = true;
    show(undefined, firstTag);
    const signal = attempts();
    const fail = (/** @type {unknown} */ error) => signal.aborted || events.failed(error, 'editor-problem');
    newPlant.propose({ signal, trouble: say }).catch(fail);
    name.focus();
  }

  return {
    add: () => add(undefined),
    open(/** @type {bigint} */ id) {
      show(undefined);
      dialog.className = 'loading';
      write('editor-title', `Plant ${id}`);
      attempt(async (request) => show(await read(id, request)));
    },
  };
}
