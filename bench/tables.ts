import { markdownTable, number } from '../tooling/markdown-table.ts';
import type { Claim } from './claims.ts';
import { contenders } from './contenders.ts';
import type { Summary } from './summary.ts';

/** As Markdown tables, one for each number of connections. */
export function resultTables(summary: readonly Summary[]): string {
  const counts = [...new Set(summary.map(({ connections }) => connections))];
  return counts
    .map((count) =>
      markdownTable(
        [
          count === 1 ? '1 connection' : `${count} connections`,
          'req/s',
          'p50 ms',
          'p99 ms',
          'CPU µs/req: server',
          'Postgres',
          'memory MiB',
          'ours ÷ it: CPU',
          'req/s',
          'p50',
          'p99',
        ],
        summary
          .filter(({ connections }) => connections === count)
          .map((row) => [
            contenders[row.contender].title,
            number(row.requestsPerSecond, 0),
            number(row.p50),
            number(row.p99),
            number(row.serverCpu, 1),
            number(row.postgresCpu, 1),
            number(row.memory, 0),
            number(row.oursByCpu),
            number(row.oursByThroughput),
            number(row.oursByP50),
            number(row.oursByP99),
          ]),
      ),
    )
    .join('\n\n');
}

export function claimTable(claims: readonly Claim[]): string {
  return markdownTable(
    ['what it must show', 'median', 'least', 'most', ''],
    claims.map(({ claim, measured, least, most, holds }) => [
      claim,
      ...[measured, least, most].map((ratio) => number(ratio)),
      holds ? 'yes' : 'NO',
    ]),
  );
}
