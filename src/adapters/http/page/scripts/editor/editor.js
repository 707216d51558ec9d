/** @import { Change, EditorEvents, Plant, Request } from '../types.d.ts' */
import { send } from '../api.js';
import { byId, write } from '../dom.js';
import { freeId } from '../free-id.js';
import { idOf, NOT_AN_ID } from '../ids.js';
import { confirmDeletion, keepEdits } from './questions.js';
import { textField } from './text-field.js';

/** The dialogs that add, change and delete a plant. */
export function plantEditor(/** @type {EditorEvents} */ { done, failed }) {
  const [dialog, takeTheirs] = [byId('editor', HTMLDialogElement), byId('take-theirs', HTMLButtonElement)];
  const [form, save] = [byId('plant', HTMLFormElement), byId('save', HTMLButtonElement)];
  const [id, emptyTag] = [byId('plant-id', HTMLInputElement), byId('plant-empty-tag', HTMLInputElement)];
  const [name, tag] = [textField('plant-name'), textField('plant-tag')];
  /** The plant as it was last read; undefined while a plant is added. */
  let stored = /** @type {Plant | undefined} */ (undefined);
  let etag = '';
  let maySave = true;
  let proposed = '';
  let leaving = new AbortController();
  const say = (problem = '') => write('editor-problem', problem);

  function show(/** @type {Plant | undefined} */ plant) {
    say();
    stored = plant;
    dialog.className = plant?.tag === '' ? 'has-empty-tag' : '';
    write('editor-title', plant ? `${maySave ? 'Change plant' : 'Plant'} ${plant.id}` : 'Add a plant');
    id.value = `${plant?.id ?? ''}`;
    emptyTag.checked = plant?.tag === '';
    name.fill(plant?.name, maySave);
    // An emptied name is probably a mistake. A plant whose name is already empty may keep it.
    byId('plant-name', HTMLTextAreaElement).required = plant?.name !== '';
    tag.fill(plant?.tag, maySave);
    lock(false);
    showButtons();
    if (dialog.open) name.focus();
    else dialog.showModal();
  }

  /** While a request is under way, nothing can be typed: the dialog closes once it succeeds. */
  function lock(/** @type {boolean} */ isLocked) {
    id.readOnly = isLocked || stored !== undefined;
    for (const field of [name, tag]) field.lock(isLocked);
    for (const control of [emptyTag, takeTheirs]) control.disabled = isLocked;
  }

  function showButtons() {
    dialog.classList.toggle('may-delete', maySave && stored !== undefined);
    save.disabled = !maySave || (name.isReadOnly() && tag.isReadOnly());
  }

  async function read(/** @type {bigint} */ id, /** @type {Request} */ request) {
    const { body, headers } = await send('GET', `plants/${id}`, request);
    etag = headers.get('ETag') ?? '';
    maySave = headers.get('Allow')?.includes('PUT') ?? false;
    return /** @type {Plant} */ (body);
  }

  /** What follows a missing permission, a proposed id that is taken, and a plant that somebody else has changed. */
  async function react(/** @type {Error} */ error, /** @type {Request} */ request) {
    if (error.cause === 40300) maySave = false;
    if ((error.cause === 40009 || error.cause === 40010) && id.value === proposed) {
      await propose(request);
      error.message += ` Save again to use ${proposed}.`;
    }
    if (error.cause === 41200 && stored) {
      stored = await read(stored.id, request);
      name.compare(stored.name);
      tag.compare(stored.tag);
      dialog.classList.add('comparing');
    }
    showButtons();
    throw error;
  }

  /** Does one thing, in place of what is not finished, and says how it fails. */
  async function attempt(/** @type {(request: Request) => Promise<Change | void>} */ work) {
    leaving.abort();
    leaving = new AbortController();
    const request = { signal: leaving.signal, trouble: say };
    say();
    lock(true);
    try {
      const change = await work(request).catch((error) => react(error, request));
      if (change === undefined) return;
      done(change);
      dialog.close();
    } catch (error) {
      if (request.signal.aborted) return;
      lock(false);
      failed(error, 'editor-problem');
    }
  }

  /** Proposes an id for a new plant, unless one is typed meanwhile. */
  async function propose(/** @type {Request} */ request) {
    const former = id.value;
    const free = `${await freeId(request)}`;
    if (id.value === former) [id.value, proposed] = [free, free];
  }

  form.onsubmit = (event) =>
    attempt(async (request) => {
      event.preventDefault();
      const texts = { name: name.text() ?? '', tag: tag.text() || (emptyTag.checked ? '' : undefined) };
      const [newId, body] = [stored?.id ?? idOf(id.value), JSON.stringify(texts)];
      if (newId === undefined) throw new Error(NOT_AN_ID);
      if (stored) await send('PUT', `plants/${newId}`, { ...request, body, ifMatch: etag });
      else await send('POST', 'plants', { ...request, body: `{"id":${newId},${body.slice(1)}` });
      return { id: newId, ...texts };
    });
  form.oninput = () => {
    dialog.classList.add('edited');
    if (dialog.matches('.comparing')) for (const field of [name, tag]) field.markDifferences();
  };
  form.onkeydown = ({ key, shiftKey, isComposing, repeat, target }) => {
    const isSave = key === 'Enter' && !shiftKey && !isComposing && target instanceof HTMLTextAreaElement;
    // A key that is held down may be the one that opened the plant.
    if (isSave && !repeat && !target.readOnly) form.requestSubmit();
    return !isSave;
  };

  const remove = (/** @type {bigint} */ id) =>
    attempt(async (request) => {
      await send('DELETE', `plants/${id}`, { ...request, ifMatch: etag });
      return { id, deleted: true };
    });
  byId('delete', HTMLElement).onclick = () => {
    const plant = stored;
    if (plant) confirmDeletion(plant, () => remove(plant.id));
  };
  takeTheirs.onclick = () => show(stored);

  keepEdits(dialog);
  // The close event comes so late that it would meet the request of a plant that is opened next.
  dialog.onbeforetoggle = () => leaving.abort();

  return {
    add() {
      maySave = true;
      show(undefined);
      leaving = new AbortController();
      const { signal } = leaving;
      propose({ signal, trouble: say }).catch((error) => signal.aborted || failed(error, 'editor-problem'));
      name.focus();
    },
    open(/** @type {bigint} */ id) {
      show(undefined);
      dialog.className = 'loading';
      write('editor-title', `Plant ${id}`);
      attempt(async (request) => show(await read(id, request)));
    },
  };
}
