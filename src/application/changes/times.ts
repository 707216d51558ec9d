import { isAfter } from './cursor.ts';
import type { Position, Progress } from './ports.ts';

/** The least distance between two marks, in milliseconds and as a fraction of their age. */
const SPACING_MS_MIN = 1_000;
const SPACING_FRACTION_MIN = 0.02;

/**
 * Plants have no time. So this process records when it read which end of the log. That shows for how long, at least, the
 * rows after a position have been there.
 */
export function logTimes() {
  let marks: { readonly end: Position; readonly at: number }[] = [];
  /** The last position of each endpoint, and when the endpoint was set back. */
  const endpoints = new Map<string, { readonly position: Position; readonly setBackAt: number }>();

  /** Must be called with each end of the log that is read. */
  function note(end: Position): void {
    // After the database was set back, the log ends before the marks.
    while (marks.length > 0 && isAfter((marks.at(-1) ?? { end }).end, end)) marks.pop();
    const [last, now] = [marks.at(-1), performance.now()];
    if (last !== undefined && (!isAfter(end, last.end) || now - last.at < SPACING_MS_MIN)) return;
    let before = Number.NEGATIVE_INFINITY;
    marks = marks.filter(({ at }) => {
      if (at - before < (now - at) * SPACING_FRACTION_MIN) return false;
      before = at;
      return true;
    });
    marks.push({ end, at: now });
  }

  return {
    note,
    /** Records a state that was just read. @returns the seconds for which the oldest unacknowledged plant has waited */
    trackEndpoint({ endpoint, position, end }: Progress): number {
      note(end);
      const before = endpoints.get(endpoint);
      const isSetBack = before !== undefined && isAfter(before.position, position);
      const setBackAt = isSetBack ? performance.now() : (before?.setBackAt ?? Number.NEGATIVE_INFINITY);
      endpoints.set(endpoint, { position, setBackAt });
      const mark = marks.find(({ end }) => isAfter(end, position));
      return mark === undefined ? 0 : (performance.now() - Math.max(mark.at, setBackAt)) / 1_000;
    },
  };
}
