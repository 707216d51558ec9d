import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, symlink } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { cpuTime, cpuTimeOfFamily } from '../tooling/linux-process.ts';
import { markdownTable, number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer, TOKEN } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { writeList } from './import-lists.ts';
import { runImport } from './import-process.ts';
import { type Load, runLoad } from './load.ts';

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    target: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    plants: { type: 'string' },
    list: { type: 'string' },
  },
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
const MAX_SPREAD = 0.05;
const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** For each request or plant: microseconds of CPU time, and of time. */
const FIGURES = ['cpu', 'service', 'postgres', 'time'] as const;
type Figures = Record<(typeof FIGURES)[number], number>;

interface Version {
  readonly folder: string;
  readonly database: BenchDatabase;
}

type Measure = (version: Version, server: Server, session: Session) => Promise<Figures>;

const load =
  (request: Exclude<Load['request'], undefined>): Measure =>
  async ({ database }, server, { signal }) => {
    const options = { request, plants, connections: CONNECTIONS, signal };
    await runLoad(server.url, { ...options, seconds: LEAD_IN });
    if (request === 'create') await startAfresh(database);
    return metered(server, database, async () => {
      const { answers, failures, seconds: took } = await runLoad(server.url, { ...options, seconds });
      if (failures > 0) throw new Error(`${failures} of ${request} failed`);
      return { count: answers, took };
    });
  };

const stream =
  (type: string): Measure =>
  ({ database }, server) =>
    metered(server, database, async () => {
      const headers = { Authorization: `Bearer ${TOKEN}`, Accept: type };
      const [response] = await once(get(`${server.url}/plants`, { headers }), 'response');
      if (response.statusCode !== 200) throw new Error(`a stream of ${type} got ${response.statusCode}`);
      await once(response.resume(), 'end');
      if (!response.complete) throw new Error(`a stream of ${type} was broken off`);
      return { count: plants };
    });

const importOf =
  (format: 'csv' | 'ndjson'): Measure =>
  async ({ folder, database }, server, session) => {
    lists[format] ??= writeList(format, listed, session);
    const list = await lists[format];
    await startAfresh(database);
    const environment = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN };
    return metered(server, database, async () => {
      await runImport({ script: join(folder, 'src/import.ts'), environment }, list, session);
      return { count: listed };
    });
  };
const lists: Partial<Record<'csv' | 'ndjson', Promise<string>>> = {};

/** What is measured on a table of many plants, and then what begins with none. */
const groups: Readonly<Record<string, Measure>>[] = [
  {
    plant: load('plant'),
    page: load('GET /plants?limit=20&after={id}'),
    tagged: load('GET /plants?limit=20&after={id}&tag=tag+{tag}'),
    ndjson: stream('application/x-ndjson'),
    csv: stream('text/csv'),
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
    if ('plant' in group) for (const { database } of [older, newer]) await fill(database);
    const control = await pairs('control', older, older, measures, session);
    const compared = await pairs(`${changed ?? 'this'} ÷ ${base}`, newer, older, measures, session);
    for (const [name] of measures) {
      for (const figure of FIGURES) rows.push(judged(`${name}.${figure}`, compared, control));
    }
  }
  const head = ['CPU and time of each, new ÷ old', 'median', 'least', 'most', 'control', 'its spread', 'target', ''];
  console.log(`\n${markdownTable(head, rows)}`);
});

type Ratios = ReadonlyMap<string, number[]>;

/** In each round both have their turn. @returns the ratios of each figure, by the names of measure and figure */
async function pairs(
  what: string,
  over: Version,
  under: Version,
  measures: [string, Measure][],
  session: Session,
): Promise<Ratios> {
  const ratios = new Map<string, number[]>();
  for (let round = 1; round <= rounds; round++) {
    const turns: Map<string, Figures>[] = [];
    for (const index of round % 2 === 1 ? [0, 1] : [1, 0]) {
      const version = index === 0 ? over : under;
      const program = { ...plantStore, script: join(version.folder, plantStore.script) };
      const server = await startServer(program, version.database.url, session);
      const figures = new Map<string, Figures>();
      for (const [name, measure] of measures) figures.set(name, await measure(version, server, session));
      turns[index] = figures;
      await server.stop();
    }
    const said: string[] = [];
    for (const [name] of measures) {
      for (const figure of FIGURES) {
        const ratio = (turns[0]?.get(name)?.[figure] ?? Number.NaN) / (turns[1]?.get(name)?.[figure] ?? Number.NaN);
        const key = `${name}.${figure}`;
        ratios.set(key, [...(ratios.get(key) ?? []), ratio]);
        if (figure === 'cpu') said.push(`${name} ${number(ratio)}`);
      }
    }
    console.error(`${what}, pair ${round}/${rounds}: ${said.join(', ')}`);
  }
  return ratios;
}

function judged(name: string, compared: Ratios, control: Ratios): string[] {
  const [ratios, chance, target] = [compared.get(name) ?? [], control.get(name) ?? [], targets.get(name)];
  const spread = median(chance.map((ratio) => Math.abs(ratio - 1)));
  const row = [median(ratios), Math.min(...ratios), Math.max(...ratios), median(chance), spread].map((n) => number(n));
  if (target === undefined) return [name, ...row, '', ''];
  const verdict = spread > MAX_SPREAD ? 'too noisy: repeat' : median(ratios) <= target + spread ? 'yes' : 'NO';
  if (verdict !== 'yes') process.exitCode = 1;
  return [name, ...row, number(target), verdict];
}

/** @param work resolves to how many requests or plants it was, and perhaps to the seconds that it knows better */
async function metered(
  server: Server,
  { postmaster }: BenchDatabase,
  work: () => Promise<{ count: number; took?: number }>,
): Promise<Figures> {
  const cpu = () => ({ service: cpuTime(server.pid).own, postgres: cpuTimeOfFamily(postmaster) });
  const [before, start] = [cpu(), performance.now()];
  const { count, took = (performance.now() - start) / 1_000 } = await work();
  const after = cpu();
  const each = (seconds: number) => (seconds * 1e6) / count;
  const [service, postgres] = [each(after.service - before.service), each(after.postgres - before.postgres)];
  return { cpu: service + postgres, service, postgres, time: each(took) };
}

async function fill({ query }: BenchDatabase): Promise<void> {
  await query(
    `insert into plants (id, name, tag) select n, 'Plant number ' || n, 'tag ' || n % 100
     from generate_series(1, $1::bigint) as n`,
    [plants],
  );
  await query('vacuum analyze plants');
  await query('checkpoint');
}

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
  return JSON.stringify(
    all
      .filter(([name, { dev, link }]) => name.startsWith('node_modules/') && !dev && !link)
      .map(([name, { version }]) => [name, version]),
  );
}
