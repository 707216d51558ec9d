/** @import { TagChoices } from '../tag-choices.js' */
/** @import { PlantList } from './plants.js' */
/** @import { Selection } from './selection.js' */
/** @import { View } from './view.js' */
import { byId, make, onClick, write } from '../dom.js';
import { idOf } from '../ids.js';
import { plantsOf } from '../texts.js';
import { isElsewhere, isFiltered, keepInAddress, viewIn, wordsOf } from './view.js';

/** Milliseconds after the last key until the service searches. */
const TYPING_MS = 300;

/** What says which plants the table shows, for people and in the address. */
export function viewFields(
  /** @type {PlantList} */ list,
  /** @type {TagChoices} */ choices,
  /** @type {Selection} */ selection,
) {
  const [name, tag] = [byId('name', HTMLInputElement), byId('tag', HTMLInputElement)];
  const [order, untagged] = [byId('order', HTMLSelectElement), byId('untagged', HTMLButtonElement)];
  const heads = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll('th button'));
  const typedName = () => name.value.trim() || undefined;
  let typing = 0;

  function fill(/** @type {View} */ view) {
    tag.value = view.tag ?? '';
    // Not while one types a space before the next word.
    if (typedName() !== view.name) name.value = view.name ?? '';
    order.value = view.order ?? '';
  }

  function show(/** @type {View} */ view) {
    clearTimeout(typing);
    write('problem');
    selection.replace(new Set());
    fill(view);
    list.show(view);
    offerTags();
  }

  /** What is shown; the name counts at once, also where it was typed just before. @returns {View} */
  const view = () => ({ ...list.view(), name: typedName() });
  const limit = (/** @type {View} */ limits = {}) => show({ ...view(), ...limits });
  const offerTags = choices.offer('tags', tag, (chosen) => limit({ tag: chosen, untagged: undefined }));
  byId('limits', HTMLFormElement).onsubmit = () => {
    const isSame = tag.value === (list.view().tag ?? '');
    limit(isSame ? {} : { tag: tag.value || undefined, untagged: undefined });
  };
  name.oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(limit, list.isLarge() ? TYPING_MS : 0);
  };
  order.onchange = () => limit({ order: order.value || undefined });
  for (const head of heads) {
    const { value } = head;
    head.onclick = () => {
      const isUp = (list.view().order ?? '') === value;
      limit({ order: isUp ? (value ? `-${value}` : 'desc') : value || undefined });
    };
  }
  untagged.onclick = () => limit({ tag: undefined, untagged: list.view().untagged ? undefined : '1' });
  onClick('show-all', () => show({ order: list.view().order }));
  fill(list.view());

  /** Where nothing matches: what would, without the tag, or with one of the words or the beginning of the only one. */
  function proposals() {
    const { name = '', order } = list.view();
    const words = wordsOf(name);
    const beginnings = Array.from(words[0] ?? '', (_, n) => name.trim().slice(0, -1 - n)).filter(
      (text) => text.length > 2,
    );
    const found = [name, ...(words.length > 1 ? words : beginnings)].find(
      (text) => text && list.count({ name: text }) > 0,
    );
    if (found === undefined) return [];
    const button = make('button', { type: 'button' }, `${found}: ${plantsOf(list.count({ name: found }))}`);
    button.onclick = () => show({ name: found, order });
    return [button];
  }

  return {
    show,
    view,
    /** Shows what the address says, if that is something else. */
    showAddress() {
      if (isElsewhere(list.view())) show(viewIn(location.hash));
    },
    /** Says what is shown, without what is being typed. @returns whether it is a part of all plants */
    update() {
      const view = list.view();
      keepInAddress(view);
      tag.placeholder = view.tag === '' ? 'the empty one' : view.untagged ? 'none' : 'any';
      const isLimited = isFiltered(view);
      const canOrder = !list.isLarge() || list.isWhole();
      for (const option of order.options) option.disabled = !canOrder && !['', 'desc'].includes(option.value);
      for (const head of heads) {
        const isOwn = head.value === order.value.replace(/^(desc|-)/, '');
        const direction = /^(desc|-)/.test(order.value) ? 'descending' : 'ascending';
        head.parentElement?.setAttribute('aria-sort', isOwn ? direction : 'none');
        head.disabled = head.value !== '' && !canOrder;
      }
      untagged.ariaPressed = `${view.untagged !== undefined}`;
      const isNone = isLimited && list.rows().length === 0 && list.isWhole() && !list.isLarge();
      write('proposals', ...(isNone ? proposals() : []));
      const [first, from] = [list.rows()[0]?.id, list.isLarge() ? idOf(view.name ?? '') : undefined];
      const isMissing = ![first, from].includes(undefined) && first !== from;
      write('missing', isMissing ? `There is no plant with the id ${from}. These are the next ones.` : '');
      return isLimited;
    },
  };
}
