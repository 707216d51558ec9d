import type { Position } from '../ports.ts';
import type { EndpointState } from '../webhooks/ports.ts';
import { isAfter } from './cursor.ts';

/** The least distance between two marks: in milliseconds, and as a fraction of their age. */
const SPACING = { least: 1_000, ofAge: 0.02 };

/**
 * Plants have no time. So this process records when it read which end of the feed. That shows for how long, at least, the
 * rows after a position have been there.
 *
 * @param now milliseconds of a monotonic clock
 */
export function logTimes(now = () => performance.now()) {
  let marks: { readonly end: Position; readonly at: number }[] = [];
  /** The last position of each endpoint, and when the endpoint was set back. */
  const endpoints = new Map<string, { readonly position: Position; readonly setBackAt: number }>();

  /** Must be called with each end of the feed that is read. */
  function note(end: Position): void {
    // After the database was set back, the feed ends before the marks.
    while (marks.length > 0 && isAfter((marks.at(-1) ?? { end }).end, end)) marks.pop();
    const last = marks.at(-1);
    if (last !== undefined && (!isAfter(end, last.end) || now() - last.at < SPACING.least)) return;
    let kept = Number.NEGATIVE_INFINITY;
    marks = marks.filter(({ at }) => {
      if (at - kept < (now() - at) * SPACING.ofAge) return false;
      kept = at;
      return true;
    });
    marks.push({ end, at: now() });
  }

  return {
    note,
    /** Seconds for which the oldest plant that the endpoint has not acknowledged has waited. */
    waitingSeconds({ endpoint, position, end }: Pick<EndpointState, 'endpoint' | 'position' | 'end'>): number {
      note(end);
      const before = endpoints.get(endpoint);
      const isSetBack = before !== undefined && isAfter(before.position, position);
      const setBackAt = isSetBack ? now() : (before?.setBackAt ?? Number.NEGATIVE_INFINITY);
      endpoints.set(endpoint, { position, setBackAt });
      const mark = marks.find((one) => isAfter(one.end, position));
      return mark === undefined ? 0 : (now() - Math.max(mark.at, setBackAt)) / 1_000;
    },
  };
}
