/** @import { Change } from './api.js' */
import { isDefinite, send } from './api.js';
import { byId, latest, setState, write } from './dom.js';
import { failed } from './errors.js';
import { apply, reload } from './table/plants.js';
import { loadTags } from './tag-choices.js';
import { numberOf } from './texts.js';

/** Seconds that a request waits for changes. */
const WAIT_S = 10;

/** Milliseconds until the list is read where the feed has not begun: it is read once more then. */
const START_MS_MAX = 1_000;

const starts = latest();
let fallbackTimer = 0;

/** What ends it: a definite response of the service itself. That of a proxy, whose number is its status, may pass. */
const ends = (/** @type {number} */ status, /** @type {number} */ number) => isDefinite(status) && number !== status;

/** Shows the plants with the token that there is now, and what others do with them, until the next call. */
export async function follow() {
  const signal = starts();
  clearTimeout(fallbackTimer);
  fallbackTimer = setTimeout(reload, START_MS_MAX);
  try {
    await poll(signal);
  } catch (error) {
    if (signal.aborted) return;
    begin('Not live');
    failed(error);
  }
}

/** Follows the changes from now on, and again from now on if its position is not valid any more. */
async function poll(/** @type {AbortSignal} */ signal) {
  let after = 'now';
  // After a failure, the next request does not wait: a waiting one would show only at its end that the service responds.
  const path = (/** @type {number} */ attempt) => `changes?limit=1000&after=${after}&wait=${attempt > 0 ? 0 : WAIT_S}`;
  const request = { trouble, signal, ends, has: 'next', timeout: (WAIT_S + 5) * 1_000 };
  for (;;) {
    // A browser has few connections to a service, for all of its tabs together.
    if (document.hidden) await new Promise((seen) => addEventListener('visibilitychange', seen, { once: true }));
    try {
      const { body } = await send('GET', path, request);
      const page = /** @type {{ changes: Change[], next: string, heldBackSeconds?: number }} */ (body);
      // What was read before is to be read again.
      if (after === 'now') begin('Live');
      else if (page.changes.length > 0) apply(page.changes);
      showDelay(page.heldBackSeconds ?? 0);
      after = page.next;
    } catch (error) {
      if (!(error instanceof Error) || error.cause !== 41001) throw error;
      after = 'now';
    }
  }
}

function begin(/** @type {string} */ state) {
  clearTimeout(fallbackTimer);
  write('live', state);
  reload();
  loadTags();
}

/** Says for how many seconds what others have done has been held back. */
function showDelay(/** @type {number} */ seconds) {
  const text = seconds > 0 ? `Live, held back for ${numberOf(seconds)} s` : 'Live';
  // A screen reader would say the same again.
  if (byId('live', HTMLElement).textContent !== text) write('live', text);
  setState('held-back', seconds > 0);
}

function trouble(problem = '') {
  write('trouble', problem);
  setState('away', problem !== '');
}
