/** @import { TagChoice } from '../tag-choices.js' */
import { byId, make, write } from '../dom.js';
import { charactersOf, cut, nodesOf } from '../texts.js';

/** The maximum number of characters that a field shows, and of a text that it can edit, if only to shorten it. */
const MAX_LENGTH = 10_000;

/**
 * The field of the editor for one text of a plant, with its note, and what somebody else has stored beside it. The service
 * takes at most so many characters.
 */
export function textField(/** @type {string} */ id, /** @type {number} */ most) {
  const field = byId(id, HTMLTextAreaElement);
  let stored = /** @type {string | undefined} */ (undefined);
  let mayType = true;

  /** Shows what is stored. */
  function fill(/** @type {string | undefined} */ shown, mayEdit = true) {
    stored = shown;
    const text = shown ?? '';
    const { length } = text;
    // A field makes line feeds of carriage returns.
    const isEditable = length <= MAX_LENGTH && !text.includes('\r');
    field.value = isEditable ? text : text.slice(0, MAX_LENGTH).toWellFormed();
    mayType = isEditable && mayEdit;
    lock(false);
    checkLength();
    // A field shows no signs.
    const signed = make('span', {}, ...nodesOf(cut(text.replaceAll('\n', ' '))));
    const signs = text && signed.querySelector('.sign') ? ['As stored: ', signed] : [];
    write(
      `${id}-note`,
      ...(isEditable
        ? signs
        : ['This text is too long, or has carriage returns (\\r): only another client can change it.']),
    );
  }

  function checkLength() {
    field.setCustomValidity(
      Array.from(field.value).length > most ? `At most ${charactersOf(most)} can be stored.` : '',
    );
  }
  field.addEventListener('input', checkLength);

  /** Takes no keys while it is locked, and keeps the focus. */
  function lock(/** @type {boolean} */ isLocked) {
    field.readOnly = isLocked || !mayType;
  }

  return {
    fill,
    lock,
    /** Offers tags in this place, until one is there. @returns {TagChoice} */
    choice: (/** @type {string} */ place) => ({
      place,
      field,
      isChoice: (tag) => tag !== '' && tag !== field.value,
      choose(tag) {
        field.value = tag;
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        field.focus();
      },
    }),
    focus: () => field.focus(),
    isReadOnly: () => !mayType,
    /** The text as it is to be stored. */
    text: () => (mayType ? field.value : stored),
    /** Takes what somebody else has stored: it replaces what cannot be edited, and stands beside what can. */
    compare(/** @type {string | undefined} */ text) {
      if (mayType) stored = text;
      else fill(text);
      write(`${id}-theirs`, ...(text === undefined ? ['none'] : nodesOf(cut(text, MAX_LENGTH))));
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
