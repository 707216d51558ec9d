import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execute } from './execute.ts';

/* Databases on the Citus cluster at CITUS_URL, the address of its coordinator. */

export interface CitusDatabase {
  /** At the coordinator, where the service finds it. */
  readonly url: string;
  /** The port of the coordinator, and those of the servers that hold the shards. */
  readonly ports: { readonly coordinator: number; readonly workers: readonly number[] };
  /** Runs one statement on the coordinator. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, string>[]>;
  /** Removes it from every server, whoever is still connected. */
  drop(): Promise<void>;
}

/** Makes a database with every migration applied and `plants` distributed by its id. */
export async function citusDatabase(shards = 32): Promise<CitusDatabase> {
  const coordinator = new URL(citusUrl());
  const workers = (await execute(coordinator.href, WORKERS)).map(({ nodename, nodeport }) =>
    Object.assign(new URL(coordinator), { host: `${nodename}:${nodeport}` }),
  );
  const name = `plants_${randomBytes(6).toString('hex')}`;
  const servers = [coordinator, ...workers];
  const inDatabase = (server: URL) => Object.assign(new URL(server), { pathname: name }).href;
  for (const server of servers) {
    await execute(server.href, `create database ${name}`);
    await execute(inDatabase(server), 'create extension citus');
  }
  const url = inDatabase(coordinator);
  const query: CitusDatabase['query'] = (text, values) => execute(url, text, values);
  await query('select citus_set_coordinator_host($1, $2)', [coordinator.hostname, coordinator.port]);
  for (const { hostname, port } of workers) await query('select citus_add_node($1, $2)', [hostname, port]);
  const migrate = join(import.meta.dirname, '../src/migrate.ts');
  await promisify(execFile)(process.execPath, [migrate, 'up'], { env: { DATABASE_URL: url } });
  await query(`select create_distributed_table('plants', 'id', shard_count := $1)`, [shards]);
  return {
    url,
    ports: { coordinator: Number(coordinator.port), workers: workers.map(({ port }) => Number(port)) },
    query,
    async drop() {
      // A database with a prepared transaction cannot be dropped.
      await query('select recover_prepared_transactions()');
      const drops = servers.map((server) => execute(server.href, `drop database ${name} with (force)`));
      await Promise.all(drops);
    },
  };
}

const WORKERS = `select nodename, nodeport from pg_dist_node where groupid > 0 and noderole = 'primary' order by nodeid`;

/** @throws Error, saying what to do, if it is not set */
function citusUrl(): string {
  const url = process.env.CITUS_URL;
  if (!url) throw new Error('CITUS_URL must name a Citus cluster: see CONTRIBUTING.md');
  return url;
}
