import { send } from './api.js';
import { byId, onClick, setState, write } from './dom.js';
import { add, open } from './editor/editor.js';
import { sendDeletion } from './editor/undo.js';
import { follow } from './follow.js';
import './lists/download-dialog.js';
import './lists/import-dialog.js';
import * as fields from './table/fields.js';
import * as list from './table/plants.js';
import * as selection from './table/selection.js';
import { onOpen } from './table/table.js';
import { isFiltered, view } from './table/view.js';
import { numberOf, plantRow } from './texts.js';
import { forgetToken, takeToken } from './token.js';
import './welcome.js';

let hasAsked = false;

function draw() {
  const [count, selectedCount] = [list.rows().length, selection.rows().length];
  if (list.all().length > 0 && !hasAsked) void askPermission();
  const isLimited = isFiltered(view());
  setState('selecting', selectedCount > 0);
  write('selected', `${numberOf(selectedCount)} selected`);
  setState('limited', isLimited);
  setState('large', list.isLarge());
  setState('empty', count === 0 && (!list.hasMore() || list.isLoading()));
  setState('new', list.all().length === 0 && list.isWhole() && !list.isLarge());
  const isSearching = list.isLoading() && (isLimited || view().order !== undefined);
  const emptyText = isLimited ? 'No plants match.' : 'No plants yet.';
  write('none', isSearching ? 'Searching …' : list.isLoading() ? '' : emptyText);
  write('count', fields.countText());
  byId('download-list', HTMLButtonElement).disabled = count === 0 && !list.isLoading();
  fields.drawFields();
}

/** Whoever may change the first plant may change others. */
async function askPermission() {
  hasAsked = true;
  try {
    const { headers } = await send('GET', `plants/${list.all()[0]?.id}`);
    setState('may-change', headers.get('Allow')?.includes('PUT') ?? false);
  } catch {
    hasAsked = false;
  }
}

/** Shows the plants with the token that there is now. */
function start() {
  hasAsked = false;
  void follow();
}

takeToken();
onOpen(open);
addEventListener('redraw', draw);
byId('sign-in', HTMLDialogElement).onclose = start;
onClick('forget', () => {
  sendDeletion();
  forgetToken();
});
onClick('select-all', selection.all);
onClick('select-none', () => {
  selection.replace(new Set());
  byId('plants', HTMLElement).focus();
});
onClick('add', add);
addEventListener('hashchange', () => {
  const hasOther = takeToken();
  fields.showAddress();
  if (hasOther) start();
});
// The table has only the rows in view: paper gets all.
addEventListener('beforeprint', () => {
  write('print-title', fields.countText());
  write('print-rows', ...list.rows().map(plantRow));
});
addEventListener('afterprint', () => write('print-rows'));
start();
