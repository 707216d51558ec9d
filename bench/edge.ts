import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { number } from '../tooling/markdown-table.ts';
import { median, quantile } from '../tooling/statistics.ts';
import { type Edge, edges } from './contenders/edges.ts';
import { atMost } from './harness/results.ts';
import { inRounds } from './harness/rounds.ts';
import { scenario } from './harness/scenario.ts';

/*
 * npm run bench -- edge [--rounds 5] [--windows 60]
 *
 * The edge alone, with a store that responds at once, beside bare node:http, Fastify, and Koa with nothing but its router
 * and body parser: the wall time of a create in a process that has the server and its client. The windows of all take turns
 * in random order, and the quickest tenth of each counts: its ratios stay the same on a busy machine. Each round has new
 * processes, since two of the same program can differ by a tenth.
 */

const CONNECTIONS = [1, 16];
/** Windows before those that count: V8 needs some 20,000 requests. */
const WARM_UP = 30;
const FLOOR = 'Koa floor';
const names = Object.keys(edges) as Edge[];

await scenario('edge', { rounds: 5, windows: 60 }, async ({ signal }, { rounds, windows }) => {
  const found = await inRounds(rounds, 'edge', () => measured(windows, signal));
  /** Of each round. */
  const timesOf = (count: number, name: Edge) => found[`${count} ${name}`] ?? [];
  const compared = (count: number, name: Edge, other: Edge, compare: (one: number, other: number) => number) =>
    timesOf(count, name).map((time, round) => compare(time, timesOf(count, other)[round] ?? Number.NaN));
  const overFloor = (count: number, name: Edge) => compared(count, name, FLOOR, (one, floor) => one / floor);

  const cells = (name: Edge, count: number) => [
    number(median(timesOf(count, name)), 1),
    number(median(overFloor(count, name))),
  ];
  const at = (count: number) => (count === 1 ? '1 connection' : `${count} connections`);
  const within = (limit: number, count: number, name: Edge) =>
    atMost(limit, `${at(count)}: ${name} ÷ ${FLOOR}`, overFloor(count, name));
  return {
    claims: [
      within(1.25, 1, 'Plant Store'),
      within(1.4, 16, 'Plant Store'),
      ...CONNECTIONS.map((count) => within(1.2, count, 'Plant Store without log')),
      ...CONNECTIONS.map((count) =>
        atMost(
          1,
          `${at(count)}: µs of the metrics`,
          compared(count, 'Plant Store', 'Plant Store without metrics', (one, other) => one - other),
        ),
      ),
    ],
    tables: {
      edge: {
        head: ['', ...CONNECTIONS.flatMap((count) => [`${at(count)}: µs`, `÷ ${FLOOR}`])],
        rows: names.map((name) => [name, ...CONNECTIONS.flatMap((count) => cells(name, count))]),
      },
    },
  };
});

/** @returns the microseconds of a create, by the number of connections and the name */
async function measured(windows: number, signal: AbortSignal): Promise<Record<string, number>> {
  const turns: {
    readonly name: Edge;
    readonly count: number;
    readonly child: ChildProcess;
    readonly times: number[];
  }[] = [];
  for (const name of names) {
    const options = {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      signal,
      killSignal: 'SIGKILL',
    } satisfies ForkOptions;
    const child = fork(
      join(import.meta.dirname, 'harness/edge-process.ts'),
      [name, ...CONNECTIONS.map(String)],
      options,
    );
    child.on('error', () => {});
    child.on('exit', (code) => {
      if (code !== null) throw new Error(`${name} ended with ${code}`);
    });
    // Its log goes to a pipe that another process reads, as with Docker or systemd.
    child.stdout?.resume();
    await once(child, 'message');
    for (const count of CONNECTIONS) turns.push({ name, count, child, times: [] });
  }
  for (let window = 0; window < WARM_UP + windows; window++) {
    const shuffled = turns.map((turn) => ({ turn, order: Math.random() })).toSorted((a, b) => a.order - b.order);
    for (const { turn } of shuffled) {
      turn.child.send(turn.count);
      const [time] = await once(turn.child, 'message');
      if (window >= WARM_UP) turn.times.push(time);
    }
  }
  for (const { child } of turns) child.kill('SIGKILL');
  return Object.fromEntries(turns.map(({ name, count, times }) => [`${count} ${name}`, quantile(times, 0.1)]));
}
