/** @import { Change, EditorEvents, Plant, Request } from './types.d.ts' */
import { send } from './api.js';
import { byId, write } from './dom.js';
import { charactersOf, cut, nodesOf } from './texts.js';

/** Characters that a field shows, and of a text that can be edited here. */
const MOST = 10_000;

/** The dialogs that add, change and delete a plant. */
export function plantEditor(/** @type {EditorEvents} */ { done, failed }) {
  const [dialog, confirmation] = [byId('editor', HTMLDialogElement), byId('confirm', HTMLDialogElement)];
  const form = byId('plant', HTMLFormElement);
  const [id, emptyTag] = [byId('plant-id', HTMLInputElement), byId('plant-empty-tag', HTMLInputElement)];
  const [name, tag] = [byId('plant-name', HTMLTextAreaElement), byId('plant-tag', HTMLTextAreaElement)];
  /** As it was read; undefined while one is added. */
  let stored = /** @type {Plant | undefined} */ (undefined);
  let etag = '';
  let leaving = new AbortController();
  const say = (problem = '') => write('editor-problem', problem);

  function show(/** @type {Plant | undefined} */ plant) {
    say();
    stored = plant;
    dialog.className = plant ? 'changing' : 'adding';
    id.value = `${plant?.id ?? ''}`;
    id.readOnly = plant !== undefined;
    fill(name);
    fill(tag);
    if (dialog.open) name.focus();
    else dialog.showModal();
  }

  /** Shows in a field what is stored. */
  function fill(/** @type {HTMLTextAreaElement} */ field) {
    const text = (field === name ? stored?.name : stored?.tag) ?? '';
    if (field === tag) emptyTag.checked = stored?.tag === '';
    // A field makes line feeds of carriage returns.
    const isEditable = text.length <= MOST && !text.includes('\r');
    const why = text.length > MOST ? `The beginning of ${charactersOf(text.length)}` : 'This text has carriage returns';
    field.value = isEditable ? text : text.slice(0, MOST).toWellFormed();
    field.readOnly = !isEditable || (stored !== undefined && !document.body.classList.contains('may-change'));
    write(`${field.id}-note`, isEditable ? '' : `${why}: only another client can change it.`);
  }

  async function read(/** @type {bigint} */ id, /** @type {Request} */ request) {
    const got = await send('GET', `plants/${id}`, request);
    etag = got.headers.get('ETag') ?? '';
    return /** @type {Plant} */ (got.body);
  }

  /** After a 412: shows what somebody else has stored beside the user's edits, and in fields that allow none. */
  async function compare(/** @type {Request} */ request) {
    stored = await read(/** @type {Plant} */ (stored).id, request);
    write('their-name', ...nodesOf(cut(stored.name, MOST)));
    write('their-tag', ...(stored.tag === undefined ? ['none'] : nodesOf(cut(stored.tag, MOST))));
    for (const field of [name, tag]) if (field.readOnly) fill(field);
    dialog.classList.add('comparing');
  }

  /** Does one thing, in place of what is not finished, and says how it fails. */
  async function attempt(/** @type {(request: Request) => Promise<Change | void>} */ work) {
    leaving.abort();
    leaving = new AbortController();
    const request = { signal: leaving.signal, trouble: say };
    say();
    try {
      const change = await work(request).catch(async (error) => {
        if (error.cause === 41200) await compare(request);
        throw error;
      });
      if (change === undefined) return;
      done(change);
      dialog.close();
    } catch (error) {
      if (!request.signal.aborted) failed(error, 'editor-problem');
    }
  }

  form.onsubmit = (event) =>
    attempt(async (request) => {
      event.preventDefault();
      const texts = {
        name: (name.readOnly ? stored?.name : name.value) ?? '',
        tag: (tag.readOnly ? stored?.tag : tag.value) || (emptyTag.checked ? '' : undefined),
      };
      const [newId, body] = [stored?.id ?? BigInt(id.value), JSON.stringify(texts)];
      if (stored) await send('PUT', `plants/${newId}`, { ...request, body, ifMatch: etag });
      else await send('POST', 'plants', { ...request, body: `{"id":${newId},${body.slice(1)}` });
      return { id: newId, ...texts };
    });

  const remove = (/** @type {bigint} */ id) =>
    attempt(async (request) => {
      await send('DELETE', `plants/${id}`, { ...request, ifMatch: etag });
      return { id, deleted: true };
    });
  form.oninput = () => dialog.classList.add('edited');
  form.onkeydown = ({ key, shiftKey, isComposing, repeat, target }) => {
    const isSave = key === 'Enter' && !shiftKey && !isComposing && target instanceof HTMLTextAreaElement;
    // A key that is held down may be the one that opened the plant.
    if (isSave && !repeat && !target.readOnly) form.requestSubmit();
    return !isSave;
  };
  byId('delete', HTMLElement).onclick = () => {
    write('confirm-name', `${stored?.id} `, ...nodesOf(cut(stored?.name ?? '')));
    confirmation.returnValue = '';
    confirmation.showModal();
  };
  byId('close', HTMLElement).onclick = () => dialog.requestClose();
  dialog.oncancel = () => !dialog.matches('.edited') || window.confirm('Close without saving your changes?');
  byId('take-theirs', HTMLElement).onclick = () => show(stored);
  // The close event comes so late that it would meet the request of a plant that is opened next.
  dialog.onbeforetoggle = () => leaving.abort();
  confirmation.onclose = () => confirmation.returnValue === 'delete' && stored && remove(stored.id);
  return {
    add: () => show(undefined),
    open(/** @type {bigint} */ id) {
      show(undefined);
      dialog.className = 'loading';
      attempt(async (request) => show(await read(id, request)));
    },
  };
}
