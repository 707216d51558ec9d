/** @import { View } from './view.js' */
import { byId, make, onClick, write } from '../dom.js';
import { offerTags } from '../tag-choices.js';
import { numberOf, plantsOf } from '../texts.js';
import * as list from './plants.js';
import * as selection from './selection.js';
import { isFiltered, keepInAddress, matching, ORDERS, view, wordsOf } from './view.js';

/* The fields that say which plants the table shows. */

/** Milliseconds after the last key until the service searches. */
const TYPING_MS = 300;

const [name, tag] = [byId('name', HTMLInputElement), byId('tag', HTMLInputElement)];
const untaggedButton = byId('untagged', HTMLButtonElement);
/** The heads of the columns: each has two orders, up and down. */
const heads = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll('th button'));
const typedName = () => name.value.trim() || undefined;
let typingTimer = 0;

/** Shows what the address says. */
export function showAddress() {
  clearTimeout(typingTimer);
  write('problem');
  fill();
  selection.replace(new Set());
  list.rearrange();
}

export function show(/** @type {View} */ view) {
  keepInAddress(view);
  showAddress();
}

function fill() {
  tag.value = view().tag ?? '';
  tag.dispatchEvent(new Event('input'));
  // Not while one types a space before the next word.
  if (typedName() !== view().name) name.value = view().name ?? '';
}

/** Changes some limits of what is shown, and keeps the others. */
export const limit = (/** @type {View} */ limits) => show({ ...view(), ...limits });

byId('limits', HTMLFormElement).onsubmit = () => {
  const isSame = tag.value === (view().tag ?? '');
  limit(isSame ? {} : { tag: tag.value || undefined });
};
name.oninput = () => {
  keepInAddress({ ...view(), name: typedName() });
  clearTimeout(typingTimer);
  typingTimer = setTimeout(showAddress, list.isLarge() ? TYPING_MS : 0);
};
for (const [n, head] of heads.entries()) {
  const [up, down] = ORDERS.slice(2 * n);
  head.onclick = () => limit({ order: view().order === up ? down : up });
}
untaggedButton.onclick = () => limit({ tag: view().tag === null ? undefined : null });
onClick('show-all', () => show({ order: view().order }));
offerTags(tag, (choice) => limit({ tag: choice }));
fill();

/** Where nothing matches, proposes what does: the text without the tag, one of its words, or the beginning of its only one. */
function proposals() {
  const { name = '', order } = view();
  const words = wordsOf(name);
  const beginnings = Array.from(name, (_, n) => name.slice(0, -1 - n)).filter((text) => text.length > 2);
  const countOf = (/** @type {string} */ text) => (text ? matching(list.all(), { name: text }).length : 0);
  const proposal = [name, ...(words.length > 1 ? words : beginnings)].find(countOf);
  if (proposal === undefined) return [];
  const button = make('button', { type: 'button' }, `${proposal}: ${plantsOf(countOf(proposal))}`);
  button.onclick = () => show({ name: proposal, order });
  return [button];
}

/** How many there are, in words. */
export function countText() {
  const [count, total, from] = [list.rows().length, list.all().length, list.from()];
  if (list.isWhole()) return count === total ? plantsOf(count) : `${numberOf(count)} of ${plantsOf(total)}`;
  // Before its first page.
  if (total === 0 && !list.isLarge()) return '';
  if (list.isLoading()) return `${plantsOf(count)}, searching …`;
  return `${plantsOf(count)}${from === undefined ? '' : ` from id ${from}`}${list.canGrow() ? ', more below' : ''}`;
}

/** Says what is shown, without what is being typed. */
export function drawFields() {
  tag.placeholder = view().tag === '' ? 'the empty one' : view().tag === null ? 'none' : 'any';
  const canOrder = !list.isLarge() || list.isWhole();
  for (const [n, head] of heads.entries()) {
    const direction = ['ascending', 'descending'][ORDERS.indexOf(view().order) - 2 * n] ?? 'none';
    head.parentElement?.setAttribute('aria-sort', direction);
    head.disabled = n > 0 && !canOrder;
  }
  untaggedButton.ariaPressed = `${view().tag === null}`;
  const isNone = isFiltered(view()) && list.rows().length === 0 && list.isWhole() && !list.isLarge();
  write('proposals', ...(isNone ? proposals() : []));
  const [id, wantedId] = [list.rows()[0]?.id, list.wantedId()];
  const isMissing = id !== undefined && wantedId !== undefined && id !== wantedId;
  write('missing', isMissing ? `There is no plant with the id ${wantedId}. These are the next ones.` : '');
}
