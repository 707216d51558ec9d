import type { Entry, Failure, Message } from './ports.ts';

/** Requests to an endpoint at once. */
export const CONCURRENCY = 32;

/** What has become of a page. */
export interface PageOutcome {
  /** How many rows, from the first on, are acknowledged or have nothing to send. */
  readonly acknowledged: number;
  /** How many plants the endpoint has acknowledged, also behind a gap. */
  readonly sent: number;
  /** Why the first row after those is not acknowledged, if it was sent. */
  readonly failure: Failure | undefined;
}

/**
 * Sends the plants of a page at the same time, since each is in it once. Nothing more is sent after the first failure: a
 * later page then has the newest states.
 *
 * @param mayBegin asked before each of them
 */
export async function sendPage(
  entries: readonly Entry[],
  send: (entry: Omit<Message, 'epoch'>) => Promise<Failure | undefined>,
  mayBegin: () => boolean,
): Promise<PageOutcome> {
  const isAcknowledged = entries.map(({ record }) => record === undefined);
  const waiting = entries.entries();
  let sent = 0;
  const failures = new Map<number, Failure>();

  async function sendOneAfterAnother(): Promise<void> {
    for (const [index, { changed, id, record }] of waiting) {
      if (record === undefined) continue;
      if (failures.size > 0 || !mayBegin()) return;
      const failure = await send({ changed, id, record });
      if (failure === undefined) {
        isAcknowledged[index] = true;
        sent++;
      } else {
        failures.set(index, failure);
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, entries.length) }, sendOneAfterAnother));
  const gap = isAcknowledged.indexOf(false);
  return { acknowledged: gap < 0 ? entries.length : gap, sent, failure: failures.get(gap) };
}
