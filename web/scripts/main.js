/** @import { Change } from './types.d.ts' */
import { send } from './api.js';
import { byId, write } from './dom.js';
import { plantEditor } from './editor/editor.js';
import { severalPlants } from './editor/several.js';
import { follow } from './follow.js';
import { downloadDialog } from './lists/download-dialog.js';
import { importDialog } from './lists/import-dialog.js';
import { viewFields } from './table/fields.js';
import { viewIn } from './table/fragment.js';
import { contains, plantList } from './table/plants.js';
import { rowSelection } from './table/selection.js';
import { plantTable } from './table/table.js';
import { plantTotal } from './table/total.js';
import { tagChoices } from './tag-choices.js';
import { cut, nodesOf, numberOf } from './texts.js';
import { forgetToken, takeToken } from './token.js';

const { classList } = document.body;
const trouble = (problem = '') => write('trouble', problem);
let [fallbackTimer, changeTimer, hasAsked, leaving] = [0, 0, false, new AbortController()];
takeToken();
const list = plantList({ updated, permitted, failed, trouble }, viewIn(location.hash));
const choices = tagChoices();
const selection = rowSelection(list, updated);
const fields = viewFields(list, choices, { shown, failed, trouble });
const total = plantTotal(list, updated);
const editor = plantEditor(choices, { done, failed });
severalPlants(selection, choices, { apply, failed, announce: (text) => write('done', text) });
importDialog(list, failed);
downloadDialog(fields.view, failed);
const table = plantTable(list, selection, {
  open: editor.open,
  show: (tag) => fields.show({ ...fields.view(), ...tag }),
});

function updated() {
  table.update();
  const [count, selected] = [list.rows().length, selection.rows().length];
  if (count > 0 && !hasAsked) void askPermission();
  classList.toggle('selecting', selected > 0);
  write('selected', `${numberOf(selected)} selected`);
  const isLimited = fields.update();
  classList.toggle('limited', isLimited);
  classList.toggle('outdated', list.isOutdated());
  classList.toggle('empty', count === 0 && (!list.hasMore() || list.isSearching()));
  const hint = classList.contains('may-create') ? ' Add one, or drop a list on this page.' : '';
  write('none', list.isSearching() ? 'Searching …' : isLimited ? 'No plants match.' : `No plants yet.${hint}`);
  write('count', total.text());
}

function apply(/** @type {readonly Change[]} */ changes) {
  list.apply(changes);
  // They may come many times a second.
  if (changeTimer !== 0) return;
  changeTimer = setTimeout(() => {
    changeTimer = 0;
    total.recount();
    choices.load();
  }, 2_000);
}

/** Says what the editor has done, and shows a new plant, though the table would not have it. */
function done(/** @type {Change} */ change, /** @type {boolean} */ isNew) {
  const { id } = change;
  apply([change]);
  if ('deleted' in change) return write('done', `Deleted ${id}`);
  const { tag, name, order } = fields.view();
  const fits = (tag === undefined || tag === change.tag) && (name === undefined || contains(change.name, name));
  if (isNew && !list.has(id)) fields.show({ ...(fits && { tag, name }), order, from: id });
  if (isNew) table.choose(id);
  write('done', `${isNew ? 'Added' : 'Changed'} ${id} `, ...nodesOf(cut(change.name)));
}

/** Who may change the first plant may change several. */
async function askPermission() {
  hasAsked = true;
  const { signal } = leaving;
  try {
    const { headers } = await send('GET', `plants/${list.rows()[0]?.id}`, { signal });
    classList.toggle('may-change', headers.get('Allow')?.includes('PUT'));
  } catch {
    hasAsked = false;
  }
}

/** Another view has other rows. */
function shown() {
  clearTimeout(fallbackTimer);
  write('done');
  selection.clear();
}

/** Takes the buttons away that a token may not use. */
function permitted(/** @type {string} */ methods) {
  classList.toggle('may-create', methods.includes('POST'));
}

function failed(/** @type {unknown} */ error, where = 'problem') {
  const { message, cause: number } = /** @type {Error} */ (error);
  write(where, message);
  if (number !== 40300) return;
  permitted('');
  classList.remove('may-change');
}

/** Shows the plants with the token that there is now, and follows their changes. */
function start() {
  leaving.abort();
  leaving = new AbortController();
  hasAsked = false;
  const { signal } = leaving;
  const begin = (/** @type {string} */ state) => {
    clearTimeout(fallbackTimer);
    write('live', state);
    list.show(list.view());
    choices.load();
  };
  // If the feed takes longer, the list is there before it, and then once more.
  clearTimeout(fallbackTimer);
  fallbackTimer = setTimeout(() => list.show(list.view()), 1_000);
  const events = {
    started: () => begin('Live'),
    apply,
    heldBack(/** @type {number} */ seconds) {
      const text = seconds > 0 ? `Live, held back for ${numberOf(seconds)} s` : 'Live';
      // A screen reader would say the same again.
      if (byId('live', HTMLElement).textContent !== text) write('live', text);
    },
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

byId('sign-in', HTMLDialogElement).onclose = start;
byId('forget', HTMLElement).onclick = forgetToken;
byId('search-again', HTMLElement).onclick = () => {
  list.show(list.view());
  byId('plants', HTMLElement).focus();
};
byId('select-all', HTMLElement).onclick = selection.all;
byId('select-none', HTMLElement).onclick = () => {
  selection.clear();
  byId('plants', HTMLElement).focus();
};
byId('add', HTMLElement).onclick = editor.add;
addEventListener('hashchange', () => {
  const hasOther = takeToken();
  fields.showAddress();
  if (hasOther) start();
});
start();
