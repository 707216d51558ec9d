import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type ServerProgram, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { median } from '../tooling/statistics.ts';
import { type Load, type LoadResult, runLoad } from './harness/load.ts';
import { createPlant } from './harness/plants.ts';

/*
 * npm run bench -- embedded [--connections 1,64] [--rounds 5] [--seconds 4] [--request create|plant|change|delete]
 *
 * The embedded database beside Fastify with SQLite. In each round every contender has its turn, alone, as a new process
 * on a new folder; ratios are made within a round. Before each turn the disk is measured: what one fsync of a few
 * kilobytes takes.
 */

const { values } = parseArgs({
  options: {
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    request: { type: 'string' },
  },
});
const connectionCounts = (values.connections ?? '1,64').split(',').map((count) => positive(count, 64));
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 4);
const request = (values.request ?? 'create') as Exclude<Load['request'], undefined>;
/** For requests about plants that are there: more than are changed or deleted within a run. */
const STORED = 80_000;
const WARM_UP_SECONDS = 5;

const contenders: ServerProgram[] = [
  plantStore,
  // It has only what creates need.
  ...(request === 'create'
    ? [{ title: 'Fastify + SQLite', script: 'bench/contenders/fastify-sqlite.ts', stores: true }]
    : []),
];

interface Turn extends Pick<LoadResult, 'p50' | 'p99'> {
  readonly connections: number;
  readonly perSecond: number;
  /** Milliseconds that an fsync of the same disk takes: the median. */
  readonly fsync: number;
}

await session(async (session) => {
  const turns = new Map<ServerProgram, Turn[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      for (const turn of await measureAlone(contender, session)) {
        turns.get(contender)?.push(turn);
        console.error(
          `round ${round + 1}/${rounds}, ${turn.connections} connections: ${contender.title} ` +
            `${number(turn.perSecond, 0)}/s, p50 ${number(turn.p50)}, p99 ${number(turn.p99)}, fsync ${number(turn.fsync)} ms`,
        );
      }
    }
  }
  const ours = turns.get(plantStore) ?? [];
  for (const count of connectionCounts) {
    const at = (all: readonly Turn[]) => all.filter(({ connections }) => connections === count);
    const rows = [...turns].map(([{ title }, all]) => {
      const middle = (value: (turn: Turn) => number) => number(median(at(all).map(value)));
      const ratio = (value: (turn: Turn) => number) =>
        number(median(at(ours).map((turn, round) => value(turn) / value(at(all)[round] ?? turn))));
      return [
        title,
        ...[middle((turn) => turn.perSecond), middle((turn) => turn.p50), middle((turn) => turn.p99)],
        ...[ratio((turn) => turn.perSecond), ratio((turn) => turn.p99), middle((turn) => turn.fsync)],
      ];
    });
    const head = [`${count} connections, ${request}`, '/s', 'p50 ms', 'p99 ms', 'ours ÷ it', 'p99 ÷ its', 'fsync ms'];
    console.log(`\n${markdownTable(head, rows)}`);
  }
});

async function measureAlone(contender: ServerProgram, session: Session): Promise<Turn[]> {
  const { signal } = session;
  const dataDir = await mkdtemp(join(session.folder, 'data-'));
  const onDisk = { ...contender, environment: { DATABASE_URL: '', DATA_DIR: dataDir } };
  const server = await startServer(onDisk, '', session);
  await runLoad(server.url, { connections: 64, seconds: WARM_UP_SECONDS, signal });
  if (request !== 'create') await store(server.url);
  const done: Turn[] = [];
  for (const connections of connectionCounts) {
    const fsync = fsyncTime(dataDir);
    const {
      answers,
      failures,
      seconds: took,
      p50,
      p99,
    } = await runLoad(server.url, {
      ...{ request, plants: STORED, connections, seconds, signal },
    });
    if (failures > 0) throw new Error(`${failures} requests to ${contender.title} failed`);
    done.push({ connections, perSecond: answers / took, p50, p99, fsync });
  }
  await server.stop();
  return done;
}

/** Creates the plants with the ids from 1. */
async function store(url: string): Promise<void> {
  const AT_ONCE = 200;
  for (let id = 1; id <= STORED; id += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => createPlant({ url }, id + n)));
  }
}

function fsyncTime(folder: string): number {
  const fd = openSync(join(folder, 'fsync-probe'), 'w');
  const block = Buffer.alloc(8_192);
  for (let n = 0; n < 128; n++) writeSync(fd, block);
  fdatasyncSync(fd);
  const times = Array.from({ length: 128 }, (_, n) => {
    writeSync(fd, block, 0, block.length, n * block.length);
    const start = performance.now();
    fdatasyncSync(fd);
    return performance.now() - start;
  });
  closeSync(fd);
  return median(times);
}
