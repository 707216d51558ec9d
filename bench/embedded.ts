import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type ServerProgram, startServer } from '../tooling/server-process.ts';
import { median } from '../tooling/statistics.ts';
import { type Load, runLoad } from './harness/load.ts';
import { createPlant } from './harness/plants.ts';
import { inRounds } from './harness/rounds.ts';
import { scenario } from './harness/scenario.ts';

/*
 * npm run bench -- embedded [--connections 1,64] [--rounds 5] [--seconds 4] [--request create|plant|change|delete]
 *
 * The embedded database beside Fastify with SQLite. In each round every contender has its turn, alone, as a new process
 * on a new folder; ratios are made within a round. Before each turn the disk is measured: what one fsync of a few
 * kilobytes takes.
 */

const RIVAL = { title: 'Fastify + SQLite', script: 'bench/contenders/fastify-sqlite.ts', stores: true };
/** For requests about plants that are there: more than are changed or deleted within a run. */
const STORED = 80_000;
const WARM_UP_SECONDS = 5;

const options = { connections: '1,64', rounds: 5, seconds: 4, request: 'create' };
await scenario('embedded', options, async (session, { connections: listed, rounds, seconds, request: named }) => {
  const { signal } = session;
  const counts = listed.split(',').map((count) => positive(count, 64));
  const request = named as NonNullable<Load['request']>;
  // It has only what creates need.
  const contenders: ServerProgram[] = request === 'create' ? [plantStore, RIVAL] : [plantStore];

  /** @returns by the number of connections and the title, requests a second, and milliseconds of requests and of an fsync */
  async function measured(contender: ServerProgram): Promise<Record<string, number>> {
    const dataDir = await mkdtemp(join(session.folder, 'data-'));
    const environment = { DATABASE_URL: '', DATA_DIR: dataDir };
    const server = await startServer({ ...contender, environment }, '', session);
    await runLoad(server.url, { connections: 64, seconds: WARM_UP_SECONDS, signal });
    if (request !== 'create') await store(server.url);
    const figures: Record<string, number> = {};
    for (const connections of counts) {
      const fsync = fsyncTime(dataDir);
      const load = { request, plants: STORED, connections, seconds, signal };
      const { answers, failures, seconds: took, p50, p99 } = await runLoad(server.url, load);
      if (failures > 0) throw new Error(`${failures} requests to ${contender.title} failed`);
      const of = { '/s': answers / took, p50, p99, fsync };
      for (const [figure, value] of Object.entries(of)) figures[`${connections} ${contender.title} ${figure}`] = value;
    }
    await server.stop();
    return figures;
  }

  const found = await inRounds(rounds, request, async () => {
    const figures: Record<string, number> = {};
    for (const contender of contenders) Object.assign(figures, await measured(contender));
    return figures;
  });
  const table = (connections: number) => ({
    head: [`${connections} connections, ${request}`, '/s', 'p50 ms', 'p99 ms', 'ours ÷ it', 'p99 ÷ its', 'fsync ms'],
    rows: contenders.map(({ title }) => {
      const of = (figure: string, program = title) => found[`${connections} ${program} ${figure}`] ?? [];
      const middle = (figure: string) => number(median(of(figure)));
      const ratio = (figure: string) =>
        number(median(of(figure, plantStore.title).map((ours, round) => ours / (of(figure)[round] ?? Number.NaN))));
      return [title, middle('/s'), middle('p50'), middle('p99'), ratio('/s'), ratio('p99'), middle('fsync')];
    }),
  });
  return { tables: Object.fromEntries(counts.map((count) => [count, table(count)])) };
});

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
