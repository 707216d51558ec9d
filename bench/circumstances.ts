import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import type { BenchDatabase } from '../tooling/session-database.ts';
import { generator } from './load.ts';

const root = join(import.meta.dirname, '..');

/** Where and with what the figures came about. */
export async function circumstances({ query }: BenchDatabase) {
  const settings = await query(
    'select name, current_setting(name) as value from pg_settings where name = any($1) order by name',
    [['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size']],
  );
  return {
    date: new Date().toISOString(),
    commit: spawnSync('git', ['describe', '--always'], { cwd: root, encoding: 'utf8' }).stdout?.trim(),
    machine: {
      cpu: cpus()[0]?.model,
      cores: availableParallelism(),
      memoryGib: Math.round(totalmem() / 1024 ** 3),
      system: `${type()} ${release()}`,
    },
    postgres: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    versions: { node: process.versions.node, generator, ...packageVersions('fastify', 'koa', 'kysely', 'pg') },
  };
}

function packageVersions(...names: readonly string[]) {
  const version = (name: string) =>
    JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
  return Object.fromEntries(names.map((name) => [name, version(name)]));
}
