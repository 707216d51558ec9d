import { execFile } from 'node:child_process';
import { mkdtemp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { markdownTable } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { startImport } from './harness/importer.ts';
import { type Load, runLoad } from './harness/load.ts';
import { cpuMeter } from './harness/measure.ts';
import { fill, writeList } from './harness/plants.ts';
import { stream } from './harness/readers.ts';
import { verdict } from './harness/results.ts';
import { pairs, timed } from './harness/rounds.ts';

/*
 * npm run bench -- versions BASE [NEW] [--only create,plant] [--target 1,create=1.05,page.time=0.9] [--rounds 7]
 *
 * Two commits of this repository, or BASE and the files as they are here. For each measure: seven pairs of BASE beside
 * itself, the control, then seven pairs of NEW beside BASE. In a pair each is started anew, and the other one first in
 * turn. Fails if a median is above its target by more than the control's spread: the median distance of its ratios
 * from 1. If that is more than 0.05, nothing is decided: repeat on a quieter machine.
 *
 * A target is for `cpu`, of the service and Postgres for each request, or for each plant of a list; `service`, `postgres`
 * and `time` have one if it is given. One without a name is for the `cpu` of all measures: 1 unless given.
 */

const own = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: own, target: { ...own, default: '' }, rounds: own, seconds: own, plants: own, list: own },
});
const [base, changed, ...rest] = positionals;
if (base === undefined || rest.length > 0) throw new Error('name one commit or two, and nothing else');
const rounds = positive(values.rounds, 7);
const seconds = positive(values.seconds, 4);
/** Stored plants that are read, and those of a list that is imported. */
const plants = positive(values.plants, 1_000_000);
const listed = positive(values.list, 200_000);

const CONNECTIONS = 64;
/** Seconds of the same load before each measured one: V8 compiles what is hot, anew for each kind of request. */
const LEAD_IN = 3;
const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** For each request or plant: microseconds of CPU time, and of time. */
const FIGURES = ['cpu', 'service', 'postgres', 'time'] as const;

interface Version {
  readonly folder: string;
  readonly database: BenchDatabase;
}

/** Prepares it. @returns what is measured, which resolves to how many requests or plants it was, and how many seconds */
type Measure = (version: Version, server: Server, session: Session) => Promise<Work>;
type Work = () => Promise<{ count: number; took: number }>;

const load =
  (request: NonNullable<Load['request']>): Measure =>
  async ({ database }, server, { signal }) => {
    const options = { request, plants, connections: CONNECTIONS, signal };
    await runLoad(server.url, { ...options, seconds: LEAD_IN });
    if (request === 'create') await startAfresh(database);
    return async () => {
      const { answers, failures, seconds: took } = await runLoad(server.url, { ...options, seconds });
      if (failures > 0) throw new Error(`${failures} of ${request} failed`);
      return { count: answers, took };
    };
  };

const streamOf =
  (type: string): Measure =>
  async (_, server, { signal }) =>
  async () => ({ count: plants, took: await timed(() => stream(server, '', type, signal)) });

const lists: Partial<Record<'csv' | 'ndjson', Promise<string>>> = {};
const importOf =
  (format: 'csv' | 'ndjson'): Measure =>
  async ({ folder, database }, server, session) => {
    lists[format] ??= writeList(format, listed, session);
    const list = await lists[format];
    await startAfresh(database);
    return async () => ({ count: listed, took: await timed(() => startImport(server, list, session, folder).done()) });
  };

/** What is measured on a table of many plants, and then what begins with none. */
const groups: Readonly<Record<string, Measure>>[] = [
  {
    plant: load('plant'),
    page: load('GET /plants?limit=20&after={id}'),
    tagged: load('GET /plants?limit=20&after={id}&tag=tag+{tag}'),
    ndjson: streamOf('application/x-ndjson'),
    csv: streamOf('text/csv'),
    change: load('change'),
  },
  { create: load('create'), import: importOf('ndjson'), csvImport: importOf('csv') },
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
  const postgres = await findPostgres(session);
  const version = async (commit: string | undefined): Promise<Version> => {
    const folder = commit === undefined ? ROOT : await checkedOut(commit, session);
    return { folder, database: await createDatabase(postgres, session, folder) };
  };
  const [older, newer] = [await version(base), await version(changed)];
  const rows: string[][] = [];
  for (const group of groups) {
    const measures = Object.entries(group).filter(([name]) => only.includes(name));
    if (measures.length === 0) continue;
    if ('plant' in group) for (const { database } of [older, newer]) await fill(database, plants);
    const turn =
      ({ folder, database }: Version) =>
      async () => {
        const program = { ...plantStore, script: join(folder, plantStore.script) };
        const server = await startServer(program, database.url, session);
        const figures: Record<string, number> = {};
        for (const [name, measure] of measures) {
          const work = await measure({ folder, database }, server, session);
          const used = cpuMeter(server, database);
          const { count, took } = await work();
          const { service, postgres } = used();
          const seconds = { cpu: service + postgres, service, postgres, time: took };
          for (const figure of FIGURES) figures[`${name}.${figure}`] = (seconds[figure] * 1e6) / count;
        }
        await server.stop();
        return figures;
      };
    const control = await pairs(rounds, 'control', turn(older), turn(older));
    const compared = await pairs(rounds, `${changed ?? 'these files'} ÷ ${base}`, turn(newer), turn(older));
    for (const [name, ratios] of Object.entries(compared)) {
      const { cells, holds } = verdict(ratios, control[name] ?? [], targets.get(name));
      rows.push([name, ...cells]);
      if (!holds) process.exitCode = 1;
    }
  }
  const head = ['CPU and time of each, new ÷ old', 'median', 'least', 'most', 'control', 'its spread', 'target', ''];
  console.log(`\n${markdownTable(head, rows)}`);
});

/** The files of a commit, with its packages, in the session's folder. */
async function checkedOut(commit: string, { folder, signal }: Session): Promise<string> {
  const inRoot = { cwd: ROOT, signal };
  const { stdout } = await run('git', ['rev-parse', '--verify', `${commit}^{commit}`], inRoot);
  const target = await mkdtemp(join(folder, 'commit-'));
  const archive = join(target, 'commit.tar');
  await run('git', ['archive', '-o', archive, stdout.trim()], inRoot);
  await run('tar', ['-xf', archive, '-C', target], { signal });
  if ((await packages(target)) === (await packages(ROOT))) {
    await symlink(join(ROOT, 'node_modules'), join(target, 'node_modules'));
  } else {
    console.error(`installing the packages of ${commit}, which differ from those here`);
    await run('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: target, signal });
  }
  return target;
}

/** What is installed for the service, as text. */
async function packages(folder: string): Promise<string> {
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
  const all = Object.entries<{ version?: string; dev?: boolean; link?: boolean }>(lock.packages);
  const installed = all.filter(([name, { dev, link }]) => name.startsWith('node_modules/') && !dev && !link);
  return JSON.stringify(installed.map(([name, { version }]) => [name, version]));
}
