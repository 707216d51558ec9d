/** @import { Change, Failed, Trouble } from './api.js' */
/** @import { PlantList } from './table/plants.js' */
/** @import { TagChoices } from './tag-choices.js' */
import { isDefinite, send } from './api.js';
import { byId, latest, write } from './dom.js';
import { numberOf } from './texts.js';

/** Seconds that a request waits for changes. */
const WAIT = 10;

/** Milliseconds until the list is read where the feed has not begun: it is read once more then. */
const START_MS_MAX = 1_000;

/** What ends it: a definite response of the service itself. That of a proxy, whose number is its status, may pass. */
const ends = (/** @type {number} */ status, /** @type {number} */ number) => isDefinite(status) && number !== status;

/**
 * Follows the changes from now on, and again from now on if its position is not valid any more: what was read before
 * `started` is to be read again. `heldBack` gets for how many seconds what others have done has been held back.
 *
 * @param {{ started(): void, apply(changes: readonly Change[]): void, heldBack(seconds: number): void, trouble: Trouble }} events
 * @param {AbortSignal} signal
 * @throws as `send` does
 */
async function follow({ started, apply, heldBack, trouble }, signal) {
  let after = 'now';
  // After a failure, the next request does not wait: a waiting one would show only at its end that the service responds.
  const path = (/** @type {number} */ attempt) => `changes?limit=1000&after=${after}&wait=${attempt > 0 ? 0 : WAIT}`;
  const request = { trouble, signal, ends, has: 'next', timeout: (WAIT + 5) * 1_000 };
  for (;;) {
    // A browser has few connections to a service, for all of its tabs together.
    if (document.hidden) await new Promise((seen) => addEventListener('visibilitychange', seen, { once: true }));
    try {
      const { body } = await send('GET', path, request);
      const page = /** @type {{ changes: Change[], next: string, heldBackSeconds?: number }} */ (body);
      if (after === 'now') started();
      else if (page.changes.length > 0) apply(page.changes);
      heldBack(page.heldBackSeconds ?? 0);
      after = page.next;
    } catch (error) {
      if (!(error instanceof Error) || error.cause !== 41001) throw error;
      after = 'now';
    }
  }
}

/**
 * Keeps the table up to date.
 *
 * @param {{ list: PlantList, choices: TagChoices, apply(changes: readonly Change[]): void, trouble: Trouble, failed: Failed }} page
 * @returns what shows the plants with the token that there is now, and follows their changes, until the signal is aborted by
 *   the next call
 */
export function following({ list, choices, apply, trouble, failed }) {
  const { classList } = document.body;
  const starts = latest();
  let fallbackTimer = 0;

  function begin(/** @type {string} */ state) {
    clearTimeout(fallbackTimer);
    write('live', state);
    list.reload();
    choices.load();
  }

  const events = {
    started: () => begin('Live'),
    apply,
    heldBack(/** @type {number} */ seconds) {
      const text = seconds > 0 ? `Live, held back for ${numberOf(seconds)} s` : 'Live';
      // A screen reader would say the same again.
      if (byId('live', HTMLElement).textContent !== text) write('live', text);
      classList.toggle('held-back', seconds > 0);
    },
    trouble(problem = '') {
      trouble(problem);
      classList.toggle('away', problem !== '');
    },
  };

  return () => {
    const signal = starts();
    clearTimeout(fallbackTimer);
    fallbackTimer = setTimeout(list.reload, START_MS_MAX);
    follow(events, signal).catch((error) => {
      if (signal.aborted) return;
      begin('Not live');
      failed(error);
    });
    return signal;
  };
}
