/** @import { TagChoice, TagCount } from './types.d.ts' */
import { send } from './api.js';
import { make, write } from './dom.js';
import { nodesOf } from './texts.js';

/** Longer tags are no choice: they would take a line of their own. */
const MAX_LENGTH = 60;

/** How many are offered to click, and while one types. */
const [CLICKED, TYPED] = [40, 200];

/** The tags in use, offered beside the fields that take one, those of most plants first. */
export function tagChoices() {
  let tags = /** @type {TagCount[]} */ ([]);
  let leaving = new AbortController();
  const offers = /** @type {(() => void)[]} */ ([]);

  return {
    /** Asks the service which there are. Where it cannot say, none is offered. */
    async load() {
      leaving.abort();
      leaving = new AbortController();
      const { signal } = leaving;
      try {
        const { body } = await send('GET', 'tags?limit=1000', { signal, has: 'tags' });
        const all = /** @type {{ tags: TagCount[] }} */ (body).tags.filter(({ tag }) => tag.length <= MAX_LENGTH);
        const sorted = all.sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1));
        const isSame = sorted.map(({ tag }) => tag).join('\0') === tags.map(({ tag }) => tag).join('\0');
        tags = sorted;
        if (!isSame) for (const offer of offers) offer();
      } catch {
        // The list says what is wrong.
      }
    },
    /** Offers tags for a field to click: those that have what is typed there. @returns what offers them again */
    toClick(/** @type {TagChoice} */ { place, field, isChoice, choose }, tabIndex = 0) {
      function offer() {
        const typed = field.value.toLowerCase();
        const fitting = tags.filter(({ tag }) => isChoice(tag) && tag.toLowerCase().includes(typed)).slice(0, CLICKED);
        const buttons = fitting.map(({ tag }) => {
          const button = make('button', { type: 'button', className: 'tag', tabIndex }, ...nodesOf(tag));
          button.onclick = () => choose(tag);
          return button;
        });
        write(place, ...buttons);
      }
      field.addEventListener('input', offer);
      offers.push(offer);
      return offer;
    },
    /** Has the browser propose tags in the fields that name this list. */
    toType(/** @type {string} */ place) {
      offers.push(() => write(place, ...tags.slice(0, TYPED).map(({ tag }) => make('option', { value: tag }))));
    },
  };
}
