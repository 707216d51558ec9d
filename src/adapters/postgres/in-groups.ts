/**
 * Spreads many callers over turns of the event loop, so that others are served between them.
 *
 * @param perTurn how many go on in one turn
 * @returns a function that resolves when it is the caller's turn: at once if there are few
 */
export function inGroups(perTurn: number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let left = perTurn;

  function nextTurn(): void {
    left = perTurn;
    for (const goOn of waiting.splice(0, perTurn)) {
      left--;
      goOn();
    }
    if (left < perTurn) setImmediate(nextTurn);
  }

  return () => {
    if (left === perTurn) setImmediate(nextTurn);
    if (left > 0 && waiting.length === 0) {
      left--;
      return undefined;
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}
