/** @import { View } from './types.d.ts' */
import { send } from './api.js';
import { byId, write } from './dom.js';
import { plantEditor } from './editor.js';
import { follow } from './follow.js';
import { plantList } from './plants.js';
import { plantTable } from './table.js';
import { currentToken, startAgain, takeToken } from './token.js';

const [from, tag] = [byId('from', HTMLInputElement), byId('tag', HTMLInputElement)];
const { classList } = document.body;
const trouble = (problem = '') => write('trouble', problem);
let late = 0;
const list = plantList({ updated, failed, trouble });
const editor = plantEditor({ done: (change) => list.apply([change]), failed });
const drawTable = plantTable(list, { open: editor.open, filterBy: (tag) => show({ tag }) });

function updated() {
  drawTable();
  const [view, count, canGrow] = [list.view(), list.rows().length, list.canGrow()];
  from.placeholder = `${view.from ?? 'first'}`;
  tag.placeholder = view.tag === '' ? 'the empty one' : 'any';
  classList.toggle('limited', view.from !== undefined || view.tag !== undefined);
  classList.toggle('empty', count === 0 && !list.hasMore());
  write('count', `${count.toLocaleString('en')} ${count === 1 ? 'plant' : 'plants'}${canGrow ? ', more below' : ''}`);
}

function show(/** @type {View} */ view) {
  clearTimeout(late);
  write('problem');
  [from.value, tag.value] = [`${view.from ?? ''}`, view.tag ?? ''];
  list.show(view);
}

/** Shows the plants from an id on, also with a tag that the field cannot hold as it is, and says if there is none with that id. */
async function showFrom(/** @type {string} */ id) {
  const shown = list.view().tag;
  const view = { tag: tag.value === shown?.replace(/[\r\n]/g, '') ? shown : tag.value || undefined };
  const isId = /^-?\d+$/.test(id) && BigInt.asIntN(64, BigInt(id)) === BigInt(id);
  if (isId || id === '') show({ ...view, ...(isId && { from: BigInt(id) }) });
  if (id !== '') await send('GET', `plants/${encodeURIComponent(id)}`, { trouble }).catch(failed);
}

/** Shows what the service has refused, and does what follows if the token is the reason. */
function failed(/** @type {Error} */ { message, cause: number }, where = 'problem') {
  write(where, message);
  if (number === 40300) learnPermissions();
  if (number !== 40100 && number !== 40101) return;
  write('problem', message);
  classList.add('signed-out');
}

/** Learns what the token permits from requests that break a rule which is checked after it, and so do nothing. */
async function learnPermissions() {
  const permits = (/** @type {'POST' | 'PUT'} */ method, /** @type {string} */ path) =>
    send(method, path).then(Boolean, ({ cause }) => cause !== 40300);
  classList.toggle('may-create', await permits('POST', 'plants'));
  classList.toggle('may-change', await permits('PUT', 'plants/none'));
}

function start() {
  learnPermissions();
  // If the feed takes longer, the list is there before it, and then once more.
  late = setTimeout(() => list.show(list.view()), 1_000);
  const begin = (/** @type {string} */ state) => {
    clearTimeout(late);
    write('live', state);
    list.show(list.view());
  };
  follow({ started: () => begin('Live'), apply: list.apply, trouble }).catch((error) => {
    begin('Not live');
    failed(error);
  });
}

byId('limits', HTMLFormElement).onsubmit = () => showFrom(from.value.trim());
byId('sign-in', HTMLFormElement).onsubmit = () => startAgain(byId('token', HTMLInputElement).value);
byId('forget', HTMLElement).onclick = () => startAgain('');
byId('show-all', HTMLElement).onclick = () => show({});
byId('add', HTMLElement).onclick = editor.add;
addEventListener('hashchange', () => location.reload());
takeToken();
if (currentToken() === '') classList.add('signed-out');
else start();
