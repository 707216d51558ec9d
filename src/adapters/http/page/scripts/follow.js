/** @import { ChangesPage, FeedEvents } from './types.d.ts' */
import { send } from './api.js';

/** Follows the changes from now on, and again from now on if its position is not valid any more. @throws as `send` does */
export async function follow(/** @type {FeedEvents} */ { started, apply, trouble }) {
  let after = 'now';
  // After a failure without a wait, at whose end only it would show that the service responds again.
  const path = (/** @type {number} */ attempt) => `changes?limit=1000&after=${after}&wait=${attempt > 0 ? 0 : 10}`;
  for (;;) {
    // A browser has few connections to a service, for all of its tabs together.
    if (document.hidden) await new Promise((seen) => addEventListener('visibilitychange', seen, { once: true }));
    try {
      const { changes, next } = /** @type {ChangesPage} */ ((await send('GET', path, { trouble })).body);
      if (after === 'now') started();
      else if (changes.length > 0) apply(changes);
      after = next;
    } catch (error) {
      if (!(error instanceof Error) || error.cause !== 41001) throw error;
      after = 'now';
    }
  }
}
