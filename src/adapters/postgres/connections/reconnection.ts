import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds without new connections, twice as long after each failure. A probe of /ready, which has 800 ms, gets the reason. */
const PAUSE = { first: 50, longest: 500 };

/**
 * Delays new connections to a server that refuses or drops them, or takes no writes: each request, and each of its
 * repetitions, would open another one.
 */
export function reconnection() {
  let length = PAUSE.first;
  let end = Number.NEGATIVE_INFINITY;
  /** When the next connection may be opened: after a pause, they follow each other, since the first one may fail. */
  let next = end;
  const isTroubled = () => performance.now() < end + 2 * PAUSE.longest;
  return {
    /** To be called when a connection has failed. Those that fail during a pause were opened before it, and count once. */
    note(): void {
      if (performance.now() < end) return;
      length = isTroubled() ? Math.min(2 * length, PAUSE.longest) : PAUSE.first;
      end = performance.now() + length;
    },
    /** Resolves when a connection may be opened. */
    async pause(): Promise<void> {
      for (;;) {
        const wait = Math.max(end, next) - performance.now();
        if (wait <= 0) break;
        await delay(wait);
      }
      if (isTroubled()) next = performance.now() + PAUSE.first;
    },
  };
}
