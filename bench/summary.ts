import { type ContenderKey, contenders } from './contenders.ts';
import type { Figures } from './measure.ts';
import { medianOf, medianRatio, type Run } from './runs.ts';

const keys = Object.keys(contenders) as ContenderKey[];

/** What the tables and the chart show: medians over the rounds, and ratios made within each round. */
export function summarize(runs: readonly Run[]) {
  const counts = [...new Set(runs.map(({ connections }) => connections))];
  // Those that this machine could start.
  const measured = keys.filter((key) => runs.some(({ contender }) => contender === key));
  return counts.flatMap((connections) =>
    measured.map((contender) => {
      const of = (figure: keyof Figures) => medianOf(runs, figure, [contender, connections]);
      const oursOver = (figure: keyof Figures) =>
        medianRatio(runs, figure, ['ours', connections], [contender, connections]);
      return {
        connections,
        contender,
        requestsPerSecond: of('requestsPerSecond'),
        p50: of('p50'),
        p99: of('p99'),
        serverCpu: of('serverCpu'),
        postgresCpu: of('postgresCpu'),
        cpu: of('cpu'),
        memory: of('memory'),
        oursByThroughput: oursOver('requestsPerSecond'),
        oursByCpu: oursOver('cpu'),
        oursByP50: oursOver('p50'),
        oursByP99: oursOver('p99'),
      };
    }),
  );
}

export type Summary = ReturnType<typeof summarize>[number];
