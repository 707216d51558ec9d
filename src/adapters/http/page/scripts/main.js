/** @import { View } from './types.d.ts' */
import { send } from './api.js';
import { byId, write } from './dom.js';
import { plantEditor } from './editor/editor.js';
import { follow } from './follow.js';
import { idOf, NOT_AN_ID } from './ids.js';
import { downloadDialog } from './lists/download-dialog.js';
import { importDialog } from './lists/import-dialog.js';
import { plantList } from './plants.js';
import { plantTable } from './table.js';
import { forgetToken, takeToken } from './token.js';

const [from, tag] = [byId('from', HTMLInputElement), byId('tag', HTMLInputElement)];
const name = byId('name', HTMLInputElement);
const { classList } = document.body;
const typedName = () => name.value || undefined;
const trouble = (problem = '') => write('trouble', problem);
let [fallbackTimer, typing, leaving, leavingView] = [0, 0, new AbortController(), new AbortController()];
const list = plantList({ updated, permitted, failed, trouble });
const editor = plantEditor({ done: (change) => list.apply([change]), failed });
importDialog({ plants: list, failed });
// The name counts at once, also where it was typed just before.
downloadDialog({ view: () => ({ ...list.view(), name: typedName() }), failed });
const drawTable = plantTable(list, { open: editor.open, filterBy: (tag) => show({ tag, name: typedName() }) });

function updated() {
  drawTable();
  const [view, count, canGrow] = [list.view(), list.rows().length, list.canGrow()];
  from.placeholder = `${view.from ?? 'first'}`;
  tag.placeholder = view.tag === '' ? 'the empty one' : 'any';
  const isLimited = Object.values(view).some((limit) => limit !== undefined);
  classList.toggle('limited', isLimited);
  classList.toggle('outdated', list.isOutdated());
  classList.toggle('empty', count === 0 && (!list.hasMore() || list.isSearching()));
  const hint = classList.contains('may-create') ? ' Add one, or drop a list on this page.' : '';
  write('none', list.isSearching() ? 'Searching …' : isLimited ? 'No plants match.' : `No plants yet.${hint}`);
  const more = list.isSearching() ? ', searching …' : canGrow ? ', more below' : '';
  write('count', `${count.toLocaleString('en')} ${count === 1 ? 'plant' : 'plants'}${more}`);
}

/** Takes the buttons away that a token may not use. */
function permitted(/** @type {string} */ methods) {
  classList.toggle('may-create', methods.includes('POST'));
}

function failed(/** @type {Error} */ { message, cause: number }, where = 'problem') {
  write(where, message);
  if (number === 40300) permitted('');
}

function show(/** @type {View} */ view) {
  leavingView.abort();
  leavingView = new AbortController();
  clearTimeout(fallbackTimer);
  clearTimeout(typing);
  write('problem');
  [from.value, tag.value, name.value] = [`${view.from ?? ''}`, view.tag ?? '', view.name ?? ''];
  list.show(view);
}

/** Shows what the fields say, unless the id is none; of a tag that its field cannot hold as it is, that it was not changed. */
function showFields() {
  const id = idOf(from.value);
  if (id === undefined && from.value.trim() !== '') return write('problem', NOT_AN_ID);
  const shown = list.view().tag;
  const isSame = tag.value === shown?.replace(/[\r\n]/g, '');
  show({ from: id, tag: isSame ? shown : tag.value || undefined, name: typedName() });
}

/** Shows the plants from an id on, and says if there is none with that id. */
async function showFrom() {
  showFields();
  const id = idOf(from.value);
  if (id === undefined) return;
  const { signal } = leavingView;
  await send('GET', `plants/${id}`, { signal, trouble }).catch((error) => signal.aborted || failed(error));
}

/** Shows the plants with the token that there is now, and follows their changes. */
function start() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const begin = (/** @type {string} */ state) => {
    clearTimeout(fallbackTimer);
    write('live', state);
    list.show(list.view());
  };
  // If the feed takes longer, the list is there before it, and then once more.
  clearTimeout(fallbackTimer);
  fallbackTimer = setTimeout(() => list.show(list.view()), 1_000);
  const events = {
    started: () => begin('Live'),
    apply: list.apply,
    trouble(problem = '') {
      trouble(problem);
      classList.toggle('away', problem !== '');
    },
  };
  follow(events, signal).catch((error) => {
    if (signal.aborted) return;
    begin('Not live');
    failed(error);
  });
}

byId('limits', HTMLFormElement).onsubmit = () => void showFrom();
name.oninput = () => {
  clearTimeout(typing);
  typing = setTimeout(showFields, 300);
};
byId('sign-in', HTMLDialogElement).onclose = start;
byId('forget', HTMLElement).onclick = forgetToken;
byId('show-all', HTMLElement).onclick = () => show({});
byId('search-again', HTMLElement).onclick = () => {
  list.show(list.view());
  byId('plants', HTMLElement).focus();
};
byId('add', HTMLElement).onclick = editor.add;
addEventListener('hashchange', () => takeToken() && start());
takeToken();
start();
