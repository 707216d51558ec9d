/** @import { PlantList, TagChoices, Trouble, View } from '../types.d.ts' */
import { send } from '../api.js';
import { byId, write } from '../dom.js';
import { idOf, NOT_AN_ID } from '../ids.js';
import { isElsewhere, keepInAddress, viewIn } from './fragment.js';

/** Milliseconds after the last key until a name is searched for. */
const TYPING = 300;

/** What says which plants the table shows, for people and in the address. */
export function viewFields(
  /** @type {PlantList} */ list,
  /** @type {TagChoices} */ choices,
  /** @type {{ shown(): void, failed(error: unknown): void, trouble: Trouble }} */ { shown, failed, trouble },
) {
  const [from, tag] = [byId('from', HTMLInputElement), byId('tag', HTMLInputElement)];
  const [name, descending] = [byId('name', HTMLInputElement), byId('descending', HTMLInputElement)];
  const typedName = () => name.value.trim() || undefined;
  let [typing, leaving] = [0, new AbortController()];

  function fill(/** @type {View} */ view) {
    [from.value, tag.value] = [`${view.from ?? ''}`, view.tag ?? ''];
    // Not while one types a space before the next word.
    if (typedName() !== view.name) name.value = view.name ?? '';
    descending.checked = view.order === 'desc';
  }

  function show(/** @type {View} */ view) {
    leaving.abort();
    leaving = new AbortController();
    clearTimeout(typing);
    write('problem');
    shown();
    fill(view);
    list.show(view);
    offerTags();
  }

  /** Shows what the fields say, unless the id is none; of a tag that its field cannot hold as it is, that it was not changed. */
  function showFields() {
    const id = idOf(from.value);
    if (id === undefined && from.value.trim() !== '') return write('problem', NOT_AN_ID);
    const { tag: former, order } = list.view();
    const isSame = tag.value === former?.replace(/[\r\n]/g, '');
    show({ from: id, tag: isSame ? former : tag.value || undefined, name: typedName(), order });
  }

  /** Shows the plants from an id on, and says if there is none with that id. */
  async function showFrom() {
    showFields();
    const id = idOf(from.value);
    if (id === undefined) return;
    const { signal } = leaving;
    await send('GET', `plants/${id}`, { signal, trouble }).catch((error) => signal.aborted || failed(error));
  }

  const offerTags = choices.toClick(
    {
      place: 'tags',
      field: tag,
      isChoice: (chosen) => chosen !== list.view().tag,
      choose: (chosen) => show({ ...list.view(), name: typedName(), from: undefined, tag: chosen }),
    },
    // As in the table: by keys one types, and is proposed the same.
    -1,
  );
  choices.toType('tag-proposals');
  tag.oninput = (event) => {
    if (!(event instanceof InputEvent) || event.inputType === 'insertReplacementText') showFields();
  };

  byId('limits', HTMLFormElement).onsubmit = () => void showFrom();
  name.oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(showFields, TYPING);
  };
  descending.onchange = () => {
    show({ ...list.view(), name: typedName(), from: undefined, order: descending.checked ? 'desc' : undefined });
  };
  byId('show-all', HTMLElement).onclick = () => show({ order: list.view().order });
  fill(list.view());

  return {
    show,
    /** The name counts at once, also where it was typed just before. @returns {View} */
    view: () => ({ ...list.view(), name: typedName() }),
    /** Shows what the address says, if that is something else. */
    showAddress() {
      if (isElsewhere(list.view())) show(viewIn(location.hash));
    },
    /** Says what is shown, without what is being typed. @returns whether it is a part of all plants */
    update() {
      const view = list.view();
      keepInAddress(view);
      from.placeholder = `${view.from ?? 'first'}`;
      tag.placeholder = view.tag === '' ? 'the empty one' : 'any';
      byId('id-column', HTMLElement).ariaSort = view.order === 'desc' ? 'descending' : 'ascending';
      return [view.from, view.tag, view.name].some((limit) => limit !== undefined);
    },
  };
}
