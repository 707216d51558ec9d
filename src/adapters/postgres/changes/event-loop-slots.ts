/**
 * Spreads many callers over iterations of the event loop, so that others are served between them.
 *
 * @param perIteration how many go on in one iteration
 * @returns a function that resolves when it is the caller's turn: at once if there are few
 */
export function eventLoopSlots(perIteration: number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let left = perIteration;

  function nextIteration(): void {
    left = perIteration;
    for (const goOn of waiting.splice(0, perIteration)) {
      left--;
      goOn();
    }
    if (left < perIteration) setImmediate(nextIteration);
  }

  return () => {
    if (left === perIteration) setImmediate(nextIteration);
    if (left > 0 && waiting.length === 0) {
      left--;
      return undefined;
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}
