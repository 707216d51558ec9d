import { send } from './api.js';
import { make, write } from './dom.js';
import { nodesOf } from './texts.js';

/** Longer tags are no choice: they would take a line of their own. */
const TAG_LENGTH_MAX = 60;
/** Tags that are offered before somebody asks for more. */
const CHOICES_MAX = 15;

/** Milliseconds until the tags are read again after a change. */
const RELOAD_DELAY_MS = 2_000;

/* The tags in use, offered beside the fields that take one, those of most plants first. */

let tags = /** @type {string[]} */ ([]);
let changeTimer = 0;

/** Loads the tags; where the service cannot list them, none is offered. */
export async function loadTags() {
  changeTimer = 0;
  try {
    const { body } = await send('GET', 'tags?limit=1000', { has: 'tags' });
    const counts = /** @type {{ tags: { tag: string, count: number }[] }} */ (body).tags;
    const choices = counts
      .filter(({ tag }) => tag.length <= TAG_LENGTH_MAX)
      .sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      .map(({ tag }) => tag);
    const isSame = choices.join('\0') === tags.join('\0');
    tags = choices;
    if (!isSame) dispatchEvent(new Event('tags'));
  } catch {
    // The list says what is wrong.
  }
}

/** Loads them again soon, once for all changes until then. */
export function loadTagsSoon() {
  if (changeTimer === 0) changeTimer = setTimeout(loadTags, RELOAD_DELAY_MS);
}

/** Offers, below a field, the tags that contain what is typed in it. The one that is chosen is typed there. */
export function offerTags(
  /** @type {HTMLInputElement | HTMLTextAreaElement} */ field,
  choose = (/** @type {string} */ tag) => {
    field.value = tag;
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    field.focus();
  },
) {
  let count = CHOICES_MAX;
  function draw() {
    const text = field.value.toLowerCase();
    const matches = tags.filter((tag) => tag !== field.value && tag.toLowerCase().includes(text));
    const buttons = matches.slice(0, count).map((tag) => {
      const button = make('button', { type: 'button', className: 'tag' }, ...nodesOf(tag));
      button.onclick = () => choose(tag);
      return button;
    });
    const more = make('button', { type: 'button', className: 'plain' }, `${matches.length - count} more`);
    more.onclick = () => {
      count = Infinity;
      draw();
    };
    write(`${field.id}s`, ...buttons, ...(matches.length > count ? [more] : []));
  }
  field.addEventListener('input', draw);
  addEventListener('tags', draw);
}
