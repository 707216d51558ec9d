import { byId, make, write } from './dom.js';
import { charactersOf, cut, differenceOf, nodesOf } from './texts.js';

/** Characters that a field shows, and of a text that can be edited here. */
const MOST = 10_000;

/** The field of the editor for one text of a plant, with its note, and what somebody else has stored beside it. */
export function textField(/** @type {string} */ id) {
  const field = byId(id, HTMLTextAreaElement);
  let stored = /** @type {string | undefined} */ (undefined);

  /** Shows what is stored. */
  function fill(/** @type {string | undefined} */ shown, mayEdit = true) {
    stored = shown;
    const text = shown ?? '';
    const { length } = text;
    // A field makes line feeds of carriage returns.
    const isEditable = length <= MOST && !text.includes('\r');
    const why = length > MOST ? `The beginning of ${charactersOf(length)}` : 'This text has carriage returns';
    field.value = isEditable ? text : text.slice(0, MOST).toWellFormed();
    field.readOnly = !isEditable || !mayEdit;
    // A field shows no signs.
    const signed = make('span', {}, ...nodesOf(cut(text.replaceAll('\n', ' '))));
    const signs = text && signed.querySelector('.sign') ? ['As stored: ', signed] : [];
    write(`${id}-note`, ...(isEditable ? signs : [`${why}: only another client can change it.`]));
  }

  /** Marks how what is stored differs from what is typed. */
  function markDifferences() {
    const isMarked = !field.readOnly && (stored ?? '').length <= MOST;
    if (stored === undefined) write(`${id}-theirs`, make(field.value ? 'ins' : 'span', {}, 'none'));
    else
      write(`${id}-theirs`, ...(isMarked && stored ? [differenceOf(stored, field.value)] : nodesOf(cut(stored, MOST))));
  }

  return {
    fill,
    markDifferences,
    focus: () => field.focus(),
    isReadOnly: () => field.readOnly,
    /** The text as it is to be stored. */
    text: () => (field.readOnly ? stored : field.value),
    /** Takes what somebody else has stored: it replaces what cannot be edited, and stands beside what can. */
    compare(/** @type {string | undefined} */ text) {
      if (field.readOnly) fill(text);
      else stored = text;
      markDifferences();
    },
  };
}
