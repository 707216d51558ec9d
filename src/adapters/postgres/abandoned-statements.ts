/**
 * Counts the statements whose connection was closed before there was a response. A backend that waits for its
 * synchronous standby does not notice that, so closing and connecting anew for as long as the standby is away would use
 * up all of the server's connections. Standbys confirm commits in order: once a later write has committed, no earlier
 * one waits any more.
 *
 * @param most how many may be counted at once
 */
export function abandonedStatements(most: number) {
  let count = 0;
  let last = Number.NEGATIVE_INFINITY;
  let closing = false;
  return {
    /** @returns whether there is room for one more, which then is counted */
    add(): boolean {
      if (count >= most && !closing) return false;
      count++;
      last = performance.now();
      return true;
    },
    committed(sent: number): void {
      if (sent > last) count = 0;
    },
    /** From now on there is always room: the service ends. */
    allowAll(): void {
      closing = true;
    },
  };
}
