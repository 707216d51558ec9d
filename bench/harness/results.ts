import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import type { BenchDatabase } from '../../tooling/session-database.ts';
import { writeFigures } from './documents.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Writes what a scenario has found, with where and with what, to bench/NAME.json, with four significant digits and one
 * line for each innermost object, and takes it over into the documents. Refuses what no commit has produced.
 */
export async function publish(name: string, database: BenchDatabase, found: object): Promise<void> {
  const changed = changedFiles();
  if (changed.length > 0) {
    console.error(`bench/${name}.json is not written, since these files differ from the commit: ${changed.join(', ')}`);
    process.exitCode = 1;
    return;
  }
  const rounded = (_key: string, member: unknown) =>
    typeof member === 'number' && !Number.isInteger(member) ? Number(member.toPrecision(4)) : member;
  const text = JSON.stringify({ ...(await circumstances(database)), ...found }, rounded, 2);
  const lines = text.replace(/[{[][^{}[\]]*[}\]]/g, (innermost) => innermost.replace(/\s*\n\s*/g, ' '));
  writeFileSync(join(ROOT, `bench/${name}.json`), `${lines}\n`);
  console.log(`wrote bench/${name}.json`);
  writeFigures();
}

async function circumstances({ query }: BenchDatabase) {
  const settings = await query(
    'select name, current_setting(name) as value from pg_settings where name = any($1) order by name',
    [['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size']],
  );
  const version = (name: string) =>
    JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
  const packages = ['fastify', 'koa', 'kysely', 'pg', 'postgres'];
  return {
    date: new Date().toISOString(),
    commit: spawnSync('git', ['describe', '--always'], { cwd: ROOT, encoding: 'utf8' }).stdout?.trim(),
    machine: {
      cpu: cpus()[0]?.model,
      cores: availableParallelism(),
      memoryGib: Math.round(totalmem() / 1024 ** 3),
      system: `${type()} ${release()}`,
    },
    postgres: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    versions: {
      node: process.versions.node,
      ...Object.fromEntries(packages.map((name) => [name, version(name)])),
    },
  };
}

/** The files that differ from the commit, without documents and results. @throws Error outside of a checkout */
function changedFiles(): string[] {
  const git = ['status', '--porcelain', '--', '.', ':!*.md', ':!bench/*.json'];
  const { status, stdout, stderr } = spawnSync('git', git, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`figures need the commit they are of: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
}
