import type { Entry, Failure, Message } from './ports.ts';

/** Requests to an endpoint at the same time. */
export const WAVE = 32;

/** What has become of a page. */
export interface PageOutcome {
  /** How many rows, from the first on, are acknowledged or have nothing to send. */
  readonly acknowledged: number;
  /** How many plants the endpoint has acknowledged, also behind a gap. */
  readonly sent: number;
  /** Why the next row is not acknowledged, if it was sent. */
  readonly failure: Failure | undefined;
}

/**
 * Sends the plants of a page in waves: a wave at the same time, since each plant is in the page once. No wave
 * follows a failure: a later page then has the newest states.
 *
 * @param mayBegin asked before each wave
 */
export async function sendPage(
  entries: readonly Entry[],
  send: (entry: Omit<Message, 'epoch'>) => Promise<Failure | undefined>,
  mayBegin: () => boolean,
): Promise<PageOutcome> {
  let sent = 0;
  for (let start = 0; start < entries.length; start += WAVE) {
    const wave = entries.slice(start, start + WAVE);
    const plants = wave.filter(({ plant }) => plant !== undefined).length;
    if (plants > 0 && !mayBegin()) return { acknowledged: start, sent, failure: undefined };
    const failures = await Promise.all(
      wave.map(({ plant, ...position }) => (plant === undefined ? undefined : send({ ...position, plant }))),
    );
    const failed = failures.filter((failure) => failure !== undefined).length;
    sent += plants - failed;
    const gap = failures.findIndex((failure) => failure !== undefined);
    if (gap >= 0) return { acknowledged: start + gap, sent, failure: failures[gap] };
  }
  return { acknowledged: entries.length, sent, failure: undefined };
}
