import { number } from '../../tooling/markdown-table.ts';

type Figures<Name extends string> = Readonly<Record<Name, number>>;

/** Does it once in each round, and says what came of it. @returns each figure of all rounds */
export async function inRounds<Name extends string>(
  rounds: number,
  what: string,
  once: (round: number) => Promise<Figures<Name>>,
): Promise<Record<Name, number[]>> {
  const results = {} as Record<Name, number[]>;
  for (let round = 1; round <= rounds; round++) {
    const figures = Object.entries<number>(await once(round)) as [Name, number][];
    for (const [name, value] of figures) results[name] = [...(results[name] ?? []), value];
    const said = figures.map(([name, value]) => `${name} ${number(value)}`);
    console.error(`${what}, round ${round}/${rounds}: ${said.join(', ')}`);
  }
  return results;
}

/** In each round both have their turn, and the other one first in turn. @returns the first ÷ the second of each figure */
export function pairs<Name extends string>(
  rounds: number,
  what: string,
  over: () => Promise<Figures<Name>>,
  under: () => Promise<Figures<Name>>,
): Promise<Record<Name, number[]>> {
  return inRounds(rounds, what, async (round) => {
    const first = await (round % 2 === 1 ? over : under)();
    const second = await (round % 2 === 1 ? under : over)();
    const [numerator, denominator] = round % 2 === 1 ? [first, second] : [second, first];
    const names = Object.keys(numerator) as Name[];
    return Object.fromEntries(names.map((name) => [name, numerator[name] / denominator[name]])) as Figures<Name>;
  });
}

/** @returns the seconds that it took */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}
