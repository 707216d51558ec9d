/** @import { Change, Trouble } from './api.js' */
import { isDefinite, send } from './api.js';

/** Seconds that a request waits for changes. */
const WAIT = 10;

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
export async function follow({ started, apply, heldBack, trouble }, signal) {
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
