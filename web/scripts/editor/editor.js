/** @import { Change, Failed, Plant, Request, TagChoices } from '../types.d.ts' */
import { send } from '../api.js';
import { byId, write } from '../dom.js';
import { idOf, NOT_AN_ID } from '../ids.js';
import { cut, nodesOf } from '../texts.js';
import { newPlants } from './new-plant.js';
import { confirmDeletion, keepEdits } from './questions.js';
import { saveByEnter, textField } from './text-field.js';

/** The dialogs that add, change and delete a plant. */
export function plantEditor(
  /** @type {TagChoices} */ choices,
  /** @type {{ done(change: Change, isNew: boolean): void, failed: Failed }} */ { done, failed },
) {
  const [dialog, takeTheirs] = [byId('editor', HTMLDialogElement), byId('take-theirs', HTMLButtonElement)];
  const [form, save] = [byId('plant', HTMLFormElement), byId('save', HTMLButtonElement)];
  const [id, emptyTag] = [byId('plant-id', HTMLInputElement), byId('plant-empty-tag', HTMLInputElement)];
  const [name, tag] = [textField('plant-name', 1_000), textField('plant-tag', 200)];
  const offerTags = choices.toClick(tag.choice('plant-tags'));
  /** The plant as it was last read; undefined while a plant is added. */
  let stored = /** @type {Plant | undefined} */ (undefined);
  let etag = '';
  let maySave = true;
  let leaving = new AbortController();
  const news = newPlants(id);
  const say = (problem = '') => write('editor-problem', problem);

  function show(/** @type {Plant | undefined} */ plant, firstTag = plant?.tag) {
    say();
    write('editor-done');
    stored = plant;
    dialog.className = plant === undefined ? 'adding' : plant.tag === '' ? 'has-empty-tag' : '';
    write('editor-title', plant ? `${maySave ? 'Change plant' : 'Plant'} ${plant.id}` : 'Add a plant');
    id.value = `${plant?.id ?? ''}`;
    emptyTag.checked = plant?.tag === '';
    name.fill(plant?.name, maySave);
    // An emptied name is probably a mistake. A plant whose name is already empty may keep it.
    byId('plant-name', HTMLTextAreaElement).required = plant?.name !== '';
    tag.fill(firstTag, maySave);
    offerTags();
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

  /** What follows a missing permission, and a plant that somebody else has changed. */
  async function react(/** @type {Error} */ error, /** @type {Request} */ request) {
    if (error.cause === 40300) maySave = false;
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
  async function attempt(
    /** @type {(request: Request) => Promise<Change | void>} */ work,
    /** @type {(change: Change) => void} */ finish = () => dialog.close(),
  ) {
    leaving.abort();
    leaving = new AbortController();
    const request = { signal: leaving.signal, trouble: say };
    say();
    lock(true);
    try {
      const change = await work(request).catch((error) => react(error, request));
      if (change === undefined) return;
      done(change, stored === undefined);
      finish(change);
    } catch (error) {
      if (request.signal.aborted) return;
      lock(false);
      failed(error, 'editor-problem');
    }
  }

  function submit(/** @type {(change: Change) => void} */ finish) {
    attempt(async (request) => {
      const texts = { name: name.text() ?? '', tag: tag.text() || (emptyTag.checked ? '' : undefined) };
      const [wanted, body] = [stored?.id ?? idOf(id.value), JSON.stringify(texts)];
      if (wanted === undefined) throw new Error(NOT_AN_ID);
      if (!stored) return { id: await news.add(wanted, body.slice(1, -1), request), ...texts };
      await send('PUT', `plants/${wanted}`, { ...request, body, ifMatch: etag });
      return { id: wanted, ...texts };
    }, finish);
  }

  form.onsubmit = (event) => {
    event.preventDefault();
    submit(() => dialog.close());
  };
  byId('another', HTMLElement).onclick = () => {
    if (!form.reportValidity()) return;
    submit((change) => {
      add(tag.text() || undefined);
      if ('name' in change) write('editor-done', `Added ${change.id} `, ...nodesOf(cut(change.name)));
    });
  };
  form.oninput = () => {
    dialog.classList.add('edited');
    if (dialog.matches('.comparing')) for (const field of [name, tag]) field.markDifferences();
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

  saveByEnter(form);
  keepEdits(dialog);
  // The close event comes so late that it would meet the request of a plant that is opened next.
  dialog.onbeforetoggle = () => leaving.abort();

  /** @param firstTag the one of the plant that was added before */
  function add(/** @type {string | undefined} */ firstTag) {
    maySave = true;
    show(undefined, firstTag);
    leaving = new AbortController();
    const { signal } = leaving;
    news.propose({ signal, trouble: say }).catch((error) => signal.aborted || failed(error, 'editor-problem'));
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
