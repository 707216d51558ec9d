import { byId, make, write } from '../dom.js';
import { charactersOf, nodesOf } from '../texts.js';

/** The field of the editor for one text of a plant, with its note. The service takes at most so many characters. */
export function textField(/** @type {string} */ id, /** @type {number} */ lengthMax) {
  const field = byId(id, HTMLTextAreaElement);
  let storedText = /** @type {string | undefined} */ (undefined);
  /** The text as the field has it, with line feeds in place of carriage returns. */
  let shownText = '';

  /** Shows what is stored. */
  function fill(/** @type {string | undefined} */ text) {
    storedText = text;
    field.value = text ?? '';
    shownText = field.value;
    // As if it were typed; but the event does not bubble, so that the form sees no edit.
    field.dispatchEvent(new Event('input'));
    // A field shows no signs.
    const signs = make('span', {}, ...nodesOf((text ?? '').replaceAll('\n', ' ')));
    write(`${id}-note`, ...(text && signs.querySelector('.sign') ? ['As stored: ', signs] : []));
  }

  field.addEventListener('input', () => {
    const isLong = Array.from(field.value).length > lengthMax;
    field.setCustomValidity(isLong ? `At most ${charactersOf(lengthMax)} can be stored.` : '');
  });

  return {
    fill,
    focus: () => field.focus(),
    /** What is to be stored: what nobody has edited stays as it is, also where a field cannot hold it. */
    text: () => (field.value === shownText ? storedText : field.value || undefined),
    /** Shows what somebody else has stored, beside what is typed. */
    compare(/** @type {string | undefined} */ text) {
      if (field.value === shownText) fill(text);
      write(`${id}-theirs`, ...(text === undefined ? ['none'] : nodesOf(text, 1_000)));
    },
  };
}

/** Enter in a text saves, and begins a line with the shift key. */
export function saveByEnter(/** @type {HTMLFormElement} */ form) {
  form.onkeydown = ({ key, shiftKey, isComposing, repeat, target }) => {
    const isSave = key === 'Enter' && !shiftKey && !isComposing && target instanceof HTMLTextAreaElement;
    // A key that is held down may be the one that opened the plant.
    if (isSave && !repeat && !target.readOnly) form.requestSubmit();
    return !isSave;
  };
}
