import type { Position } from '../ports.ts';
import type { EndpointState } from '../webhooks/ports.ts';
import { isAfter } from './cursor.ts';

/** Milliseconds between two marks, at least, and the part of their age by which older ones may be apart. */
const SPACING = { least: 1_000, ofAge: 0.02 };

/**
 * Plants have no time. Where the feed has ended, and when, says for how long what comes after a position has been there, at
 * least: as far as this process has seen the end.
 *
 * @param now milliseconds of a monotonic clock
 */
export function logTimes(now = () => performance.now()) {
  let marks: { readonly end: Position; readonly at: number }[] = [];
  /** Where each endpoint was at last, and when it was set back. */
  const endpoints = new Map<string, { readonly position: Position; readonly setBackAt: number }>();

  /** To be called with each end of the feed that is read. */
  function note(end: Position): void {
    // Where the database was set back, the feed ends before the marks.
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
    /** For how long the oldest plant has waited that the endpoint has not acknowledged, in seconds. */
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
