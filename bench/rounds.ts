import { number } from '../tooling/markdown-table.ts';

/** Does it once in each round, and says what came of it. */
export async function inRounds(rounds: number, what: string, once: () => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    results.push(await once());
    console.error(`${what}, round ${round}/${rounds}: ${number(results.at(-1) ?? Number.NaN)}`);
  }
  return results;
}

/** @returns the seconds that it took */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}
