/** @import { PlantList } from '../types.d.ts' */
import { send } from '../api.js';
import { numberOf, plantsOf } from '../texts.js';
import { queryOf } from './fragment.js';

/** How many plants the view of a list has, in words, also where only some of them are there: the service is asked then. */
export function plantTotal(/** @type {PlantList} */ list, /** @type {() => void} */ updated) {
  let counted = /** @type {{ count: number, isExact: boolean } | undefined} */ (undefined);
  /** The tag and the text that the service was asked for. */
  let asked = /** @type {string | undefined} */ (undefined);
  let leaving = new AbortController();

  async function ask(/** @type {string} */ query) {
    leaving.abort();
    leaving = new AbortController();
    const { signal } = leaving;
    if (asked !== query) counted = undefined;
    asked = query;
    try {
      const { body } = await send('GET', `plants/count?${query}`, { signal, has: 'count' });
      counted = /** @type {typeof counted} */ (body);
      updated();
    } catch {
      // The list says what is wrong.
    }
  }

  const query = () => `${queryOf({ ...list.view(), from: undefined, order: undefined })}`;
  const isPart = () => list.rows().length > 0 && (list.hasMore() || list.view().from !== undefined);

  return {
    text() {
      const shown = list.rows().length;
      if (list.isSearching()) return `${plantsOf(shown)}, searching …`;
      // Before its first page.
      if (shown === 0 && list.hasMore()) return '';
      if (!isPart()) return plantsOf(shown);
      if (asked !== query()) void ask(query());
      if (counted === undefined || counted.count < shown) {
        const { from } = list.view();
        return `${plantsOf(shown)}${from === undefined ? '' : ` from id ${from}`}${list.canGrow() ? ', more below' : ''}`;
      }
      return `${numberOf(shown)} of ${counted.isExact ? '' : 'at least '}${plantsOf(counted.count)}`;
    },
    /** Asks again, since plants have changed. */
    recount() {
      if (isPart()) void ask(query());
    },
  };
}
