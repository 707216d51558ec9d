import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { checkedOut, ROOT } from './harness/commits.ts';
import { startImport } from './harness/importer.ts';
import { type Load, runLoad } from './harness/load.ts';
import { cpuMeter } from './harness/measure.ts';
import { fill, writeList } from './harness/plants.ts';
import { stream } from './harness/readers.ts';
import { verdict } from './harness/results.ts';
import { inRounds, timed } from './harness/rounds.ts';

/*
 * npm run bench -- versions BASE [NEW] [--only create,plant] [--target 1,create=1.05,page.time=0.9] [--rounds 7] [--sqlite]
 *
 * Two commits of this repository, or BASE and the files as they are here, on Postgres or on the embedded database. In each
 * round BASE, NEW and BASE a second time are started anew, since two processes of the same program can differ by a tenth.
 * They take turns of a second or two in which nothing else runs, so that a slow minute of the machine concerns all three.
 * The ratio is NEW to the mean of both BASEs, the control one BASE to the other. Fails if a median is above its target by
 * more than the control's spread: the median distance of its ratios from 1. If that is more than 0.05, nothing is decided:
 * repeat on a quieter machine.
 *
 * A target is for `cpu`, of the service and Postgres for each request, or for each plant of a list; `service`, `postgres`
 * and `time` have one if it is given. One without a name is for the `cpu` of all measures: 1 unless given.
 */

const own = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: own,
    target: { ...own, default: '' },
    rounds: own,
    turns: own,
    seconds: own,
    plants: own,
    list: own,
    sqlite: { type: 'boolean' },
  },
});
const [base, changed, ...rest] = positionals;
if (base === undefined || rest.length > 0) throw new Error('name one commit or two, and nothing else');
const rounds = positive(values.rounds, 7);
/** Of each in a round, and how long one is, half a second of it for opening connections. */
const turns = positive(values.turns, 3);
const seconds = positive(values.seconds, 2);
/** Stored plants that are read, and those of a list that is imported. */
const plants = positive(values.plants, 200_000);
const listed = positive(values.list, 30_000);

const CONNECTIONS = 64;
/** Of requests that take long. */
const FEW = 4;
/** Seconds of the same load before each measured one: V8 compiles what is hot, anew for each kind of request. */
const LEAD_IN = 2;

/** For each request or plant: microseconds of CPU time, and of time. */
const FIGURES = ['cpu', 'service', 'postgres', 'time'] as const;

interface Version {
  readonly folder: string;
  /** None if it is embedded. */
  readonly database: BenchDatabase | undefined;
}

interface Running extends Version {
  readonly server: Server;
}

/** Prepares it. @returns the work of one turn, which resolves to how many requests or plants it was, and how many seconds */
type Measure = (version: Running, session: Session) => Promise<Work>;
type Work = () => Promise<{ count: number; took: number }>;

const load =
  (request: NonNullable<Load['request']>, connections = CONNECTIONS): Measure =>
  async ({ database, server }, { signal }) => {
    const options = { request, plants, connections, signal };
    await runLoad(server.url, { ...options, seconds: LEAD_IN });
    if (request === 'create' && database) await startAfresh(database);
    return async () => {
      const { answers, failures, seconds: took } = await runLoad(server.url, { ...options, seconds });
      if (failures > 0) throw new Error(`${failures} of ${request} failed`);
      return { count: answers, took };
    };
  };

const streamOf =
  (type: string): Measure =>
  async ({ server }, { signal }) =>
  async () => ({ count: plants, took: await timed(() => stream(server, '', type, signal)) });

const importOf =
  (format: 'csv' | 'ndjson'): Measure =>
  async ({ folder, server }, session) => {
    const lists = await Promise.all(Array.from({ length: turns }, () => writeList(format, listed, session)));
    return async () => {
      const list = lists.pop() ?? '';
      return { count: listed, took: await timed(() => startImport(server, list, session, folder).done()) };
    };
  };

/** What is measured on a table of many plants, and then what begins with none. */
const groups: Readonly<Record<string, Measure>>[] = [
  {
    plant: load('plant'),
    page: load('page'),
    tagged: load('taggedPage'),
    count: load('GET /plants/count', FEW),
    search: load('GET /plants?limit=100&name=number+9', FEW),
    changes: load('GET /changes?limit=1000', FEW),
    ndjson: streamOf('application/x-ndjson'),
    csv: streamOf('text/csv'),
    change: load('change'),
  },
  { create: load('create'), alone: load('create', 1), import: importOf('ndjson'), csvImport: importOf('csv') },
];
const only = values.only?.split(',') ?? groups.flatMap(Object.keys);
const targets = new Map(only.map((name) => [`${name}.cpu`, 1]));
for (const [text, name, limit] of values.target.matchAll(/(?:([\w.]+)=)?([\d.]+)/g)) {
  if (name === undefined) for (const measure of only) targets.set(`${measure}.cpu`, Number(text));
  else targets.set(name.includes('.') ? name : `${name}.cpu`, Number(limit));
}
const known = groups.flatMap(Object.keys).flatMap((name) => FIGURES.map((figure) => `${name}.${figure}`));
const unknown = [...targets.keys()].filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`nothing is measured as ${unknown}: there is ${known.join(', ')}`);

await session(async (session) => {
  const postgres = values.sqlite ? undefined : await findPostgres(session);
  const version = async (folder: string): Promise<Version> => ({
    folder,
    database: postgres && (await createDatabase(postgres, session, folder)),
  });
  const older = await checkedOut(base, session);
  const newer = changed === undefined ? ROOT : await checkedOut(changed, session);
  const versions = [await version(older), await version(newer), await version(older)];

  async function started({ folder, database }: Version): Promise<Running> {
    const environment = { DATA_DIR: await mkdtemp(join(session.folder, 'data-')) };
    const program = { ...plantStore, environment, script: join(folder, plantStore.script) };
    return { folder, database, server: await startServer(program, database?.url ?? '', session) };
  }

  /** The figures of each, for one request or plant. @param first whose turn it is first; then they take it in both directions */
  async function figuresOf(running: readonly Running[], measure: Measure, first: number) {
    const works: Work[] = [];
    for (const one of running) works.push(await measure(one, session));
    const sums = running.map(() => ({ cpu: 0, service: 0, postgres: 0, time: 0, count: 0 }));
    for (let turn = 0; turn < turns; turn++) {
      for (const place of turn % 2 === 0 ? [0, 1, 2] : [2, 1, 0]) {
        const index = (place + first + turn) % 3;
        const [one, work, sum] = [running[index], works[index], sums[index]];
        if (!one || !work || !sum) throw new RangeError(`there is no version ${index}`);
        const used = cpuMeter(one.server, one.database);
        const { count, took } = await work();
        const { service, postgres } = used();
        sum.count += count;
        sum.time += took;
        sum.service += service;
        sum.postgres += postgres;
        sum.cpu += service + postgres;
      }
    }
    return (figure: (typeof FIGURES)[number]) => sums.map((sum) => sum[figure] / sum.count) as [number, number, number];
  }

  const rows: string[][] = [];
  for (const group of groups) {
    const measures = Object.entries(group).filter(([name]) => only.includes(name));
    if (measures.length === 0) continue;
    const isFilled = 'plant' in group;
    if (isFilled) for (const { database } of versions) if (database) await fill(database, plants);
    const control: Record<string, number[]> = {};
    const compared = await inRounds(rounds, `${changed ?? 'these files'} ÷ ${base}`, async (round) => {
      const running = await Promise.all(versions.map(started));
      if (isFilled && !postgres) for (const { folder, server } of running) await fillByImport(server, folder, session);
      const ratios: Record<string, number> = {};
      for (const [name, measure] of measures) {
        const of = await figuresOf(running, measure, round);
        for (const figure of FIGURES) {
          const [before, now, again] = of(figure);
          ratios[`${name}.${figure}`] = (2 * now) / (before + again);
          control[`${name}.${figure}`] = [...(control[`${name}.${figure}`] ?? []), again / before];
        }
      }
      for (const { server } of running) await server.stop();
      return ratios;
    });
    for (const [name, ratios] of Object.entries(compared)) {
      if (ratios.some(Number.isNaN)) continue;
      const { cells, holds } = verdict(ratios, control[name] ?? [], targets.get(name));
      rows.push([name, ...cells]);
      if (!holds) process.exitCode = 1;
    }
  }
  const head = ['CPU and time of each, new ÷ old', 'median', 'least', 'most', 'control', 'its spread', 'target', ''];
  console.log(`\n${markdownTable(head, rows)}`);
});

/** The plants that `fill` makes on Postgres. */
async function fillByImport(server: Server, folder: string, session: Session): Promise<void> {
  const list = join(await mkdtemp(join(session.folder, 'list-')), 'plants.csv');
  const lines = Array.from({ length: plants }, (_, n) => `${n + 1},Plant number ${n + 1},tag ${(n + 1) % 100}\n`);
  await writeFile(list, `id,name,tag\n${lines.join('')}`);
  await startImport(server, list, session, folder).done();
}
