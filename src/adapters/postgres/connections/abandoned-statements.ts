/** Milliseconds for which an abandoned statement counts: nothing says when it has ended. */
const COUNTED_FOR = 60_000;

/** Bounds how many statements may still run in Postgres after their connection was closed (docs/adr/0006-no-cancel.md). */
export function abandonedStatements(limit: number) {
  const times: number[] = [];
  let bound = limit;
  return {
    /** Counts a statement as abandoned; false, without counting it, if there are too many. */
    tryAdd(): boolean {
      const now = performance.now();
      while (times[0] !== undefined && times[0] < now - COUNTED_FOR) times.shift();
      if (times.length >= bound) return false;
      times.push(now);
      return true;
    },
    /** Lifts the limit, for shutdown. */
    allowAll(): void {
      bound = Number.POSITIVE_INFINITY;
    },
  };
}
