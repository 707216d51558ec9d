/** @import { Change } from './api.js' */
import { isDefinite, send } from './api.js';
import { latest, setState, write } from './dom.js';
import { failed } from './errors.js';
import { apply, reload } from './table/plants.js';
import { loadTags } from './tag-choices.js';
import { numberOf } from './texts.js';

/** Seconds that a request waits for changes. */
const WAIT_S = 10;

const starts = latest();

/** Only a definite response of the service itself ends it. That of a proxy, whose number is its status, may be temporary. */
const ends = (/** @type {number} */ status, /** @type {number} */ number) => isDefinite(status) && number !== status;

/**
 * Shows the plants with the token that there is now, and from now on what others do with them, until the next call. Where a
 * position in their changes is not valid any more, it begins again.
 */
export async function follow() {
  const signal = starts();
  let after = 'now';
  // After a failure, the next request does not wait: a waiting one would show only at its end that the service responds.
  const path = (/** @type {number} */ attempt) => `changes?limit=1000&after=${after}&wait=${attempt > 0 ? 0 : WAIT_S}`;
  const request = { trouble, signal, ends, has: 'next' };
  // The first plants are shown at once, and read again as soon as no change of theirs is missed.
  reload();
  while (!signal.aborted) {
    // A browser has few connections to a service, for all of its tabs together.
    if (document.hidden) await new Promise((seen) => addEventListener('visibilitychange', seen, { once: true }));
    try {
      const { body } = await send('GET', path, request);
      const page = /** @type {{ changes: Change[], next: string, heldBackSeconds?: number }} */ (body);
      if (after === 'now') begin('Live');
      else if (page.changes.length > 0) apply(page.changes);
      showDelay(page.heldBackSeconds ?? 0);
      after = page.next;
    } catch (error) {
      if (signal.aborted) return;
      after = 'now';
      if (/** @type {Error} */ (error).cause === 41001) continue;
      begin('Not live');
      failed(error);
      return;
    }
  }
}

function begin(/** @type {string} */ state) {
  write('live', state);
  reload();
  void loadTags();
}

/** Says for how many seconds what others have done has been held back. */
function showDelay(/** @type {number} */ seconds) {
  write('live', seconds > 0 ? `Live, held back for ${numberOf(seconds)} s` : 'Live');
  setState('held-back', seconds > 0);
}

function trouble(problem = '') {
  write('trouble', problem);
  setState('away', problem !== '');
}
