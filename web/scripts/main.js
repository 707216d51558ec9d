/** @import { Change, Plant } from './api.js' */
/** @import { Former } from './editor/several.js' */
import { send } from './api.js';
import { byId, onClick, write } from './dom.js';
import { plantEditor } from './editor/editor.js';
import { severalPlants } from './editor/several.js';
import { undoing } from './editor/undo.js';
import { following } from './follow.js';
import { downloadDialog } from './lists/download-dialog.js';
import { importDialog } from './lists/import-dialog.js';
import { viewFields } from './table/fields.js';
import { plantList } from './table/plants.js';
import { printing } from './table/print.js';
import { rowSelection } from './table/selection.js';
import { plantTable } from './table/table.js';
import { viewIn } from './table/view.js';
import { tagChoices } from './tag-choices.js';
import { nodesOf, numberOf } from './texts.js';
import { forgetToken, takeToken } from './token.js';
import { welcome } from './welcome.js';

const { classList } = document.body;
const trouble = (problem = '') => write('trouble', problem);
let [changeTimer, hasAsked] = [0, false];
let { signal } = new AbortController();
takeToken();
const list = plantList({ updated, permitted, failed, trouble }, viewIn(location.hash));
const choices = tagChoices();
const selection = rowSelection(list, updated);
const fields = viewFields(list, choices, selection);
const undo = undoing({ apply, updated, failed });
const several = severalPlants(selection, choices, { apply, failed, done: (words, former) => changed([words], former) });
const editor = plantEditor(choices, { done, remove: undo.remove, failed });
importDialog(list, {
  failed,
  select(ids) {
    fields.show({});
    selection.replace(ids);
  },
});
downloadDialog(fields.view, list, failed);
printing(list);
welcome({ add: editor.add, apply, failed });
const table = plantTable(list, selection, {
  open: editor.open,
  showTag: (tag) => fields.show({ ...fields.view(), untagged: undefined, tag }),
  isLeaving: undo.isLeaving,
});

const live = following({ list, choices, apply, trouble, failed });

function updated() {
  table.update();
  const [count, selected] = [list.rows().length, selection.rows().length];
  if (list.loaded() > 0 && !hasAsked) void askPermission();
  classList.toggle('selecting', selected > 0);
  write('selected', `${numberOf(selected)} selected`);
  const isLimited = fields.update();
  classList.toggle('limited', isLimited);
  classList.toggle('large', list.isLarge());
  classList.toggle('empty', count === 0 && (!list.hasMore() || list.isLoading()));
  classList.toggle('new', list.loaded() === 0 && list.isWhole() && !list.isLarge());
  const isSearching = list.isLoading() && (isLimited || list.view().order !== undefined);
  const nothing = isLimited ? 'No plants match.' : 'No plants yet.';
  write('none', isSearching ? 'Searching …' : list.isLoading() ? '' : nothing);
  write('count', list.text());
  byId('download-list', HTMLButtonElement).disabled = count === 0 && !list.isLoading();
}

function apply(/** @type {readonly Change[]} */ changes) {
  list.apply(changes);
  if (changeTimer !== 0) return;
  changeTimer = setTimeout(() => {
    changeTimer = 0;
    choices.load();
  }, 2_000);
}

/** Says what the editor has saved, and shows a new plant, though the table would not have it. */
function done(/** @type {Plant} */ plant, /** @type {Former | undefined} */ former) {
  const { id, name } = plant;
  apply([plant]);
  const words = [`${former ? 'Changed' : 'Added'} ${id} `, ...nodesOf(name)];
  if (former) return changed(words, [former]);
  if (list.indexOf(id) < 0) fields.show(list.isLarge() ? { name: `${id}` } : { order: list.view().order });
  table.choose(id);
  undo.say(words);
}

/** Offers to put back what was changed, unless somebody else has changed it since. */
const changed = (/** @type {(Node | string)[]} */ words, /** @type {Former[]} */ former) =>
  undo.say(words, former.length > 0 ? () => several.restore(former) : undefined);

/** Who may change the first plant may change others. */
async function askPermission() {
  hasAsked = true;
  try {
    const { headers } = await send('GET', `plants/${list.first()?.id}`, { signal });
    classList.toggle('may-change', headers.get('Allow')?.includes('PUT'));
  } catch {
    hasAsked = false;
  }
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

function start() {
  hasAsked = false;
  signal = live();
}

byId('sign-in', HTMLDialogElement).onclose = start;
onClick('forget', () => {
  undo.leave();
  forgetToken();
});
onClick('select-all', selection.all);
onClick('select-none', () => {
  selection.replace(new Set());
  byId('plants', HTMLElement).focus();
});
onClick('add', editor.add);
addEventListener('hashchange', () => {
  const hasOther = takeToken();
  fields.showAddress();
  if (hasOther) start();
});
start();
