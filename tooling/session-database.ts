import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { parentOf } from './linux-process.ts';
import { startPostgresServer } from './postgres-server.ts';
import type { Session } from './session.ts';

interface Postgres {
  readonly url: string;
  /** Somebody else's: what is made there has to be removed. */
  readonly borrowed: boolean;
}

/**
 * The Postgres of DATABASE_URL, or one of the session's own, whose commits reach the disk.
 *
 * @param settings of postgresql.conf that the session's own has, such as `shared_buffers=6GB`
 */
export async function findPostgres({ opened }: Session, settings: readonly string[] = []): Promise<Postgres> {
  if (process.env.DATABASE_URL) return { url: process.env.DATABASE_URL, borrowed: true };
  const starting = startPostgresServer(settings);
  opened.defer(async () => (await starting.catch(() => undefined))?.stop());
  return { url: (await starting).url, borrowed: false };
}

/** A migrated database of the session's own, so that no other is touched. */
export interface BenchDatabase {
  readonly url: string;
  /** The process above all of Postgres's, NaN if it is out of sight. */
  readonly postmaster: number;
  query(text: string, values?: readonly unknown[]): Promise<Record<string, string>[]>;
  countPlants(): Promise<number>;
  /** Counts the plants once their number has stopped growing. */
  countSettledPlants(): Promise<number>;
}

/** @param folder of the version whose migrations it gets */
export async function createDatabase(
  postgres: Postgres,
  { opened }: Session,
  folder = join(import.meta.dirname, '..'),
): Promise<BenchDatabase> {
  const name = `plant_store_bench_${randomBytes(6).toString('hex')}`;
  const server = await connect(postgres.url, opened);
  await server.query(`create database ${name}`);
  opened.defer(async () => {
    if (postgres.borrowed) await server.query(`drop database ${name} with (force)`);
  });
  const url = new URL(postgres.url);
  url.pathname = name;
  await promisify(execFile)(process.execPath, [join(folder, 'src/migrate.ts'), 'up'], {
    env: { DATABASE_URL: url.href },
  });

  const client = await connect(url.href, opened);
  const query: BenchDatabase['query'] = async (text, values = []) => (await client.query(text, [...values])).rows;
  const countPlants = async () => Number((await query('select count(*) from plants'))[0]?.count);
  const [backend] = await query('select pg_backend_pid() as pid');
  const isHere = ['127.0.0.1', 'localhost'].includes(url.hostname);
  return {
    url: url.href,
    postmaster: isHere ? parentOf(Number(backend?.pid)) : Number.NaN,
    query,
    countPlants,
    async countSettledPlants() {
      for (let last = await countPlants(); ; ) {
        await sleep(200);
        const now = await countPlants();
        if (now === last) return now;
        last = now;
      }
    },
  };
}

/** Makes runs begin alike: without plants, and with a checkpoint just done instead of one in progress. */
export async function startAfresh({ query }: BenchDatabase): Promise<void> {
  await query('truncate plants');
  await query('checkpoint');
}

async function connect(url: string, opened: AsyncDisposableStack): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'plant-store-bench' });
  // Ctrl-C in a terminal stops Postgres, too; without a listener that would end this process before it has cleaned up.
  client.on('error', () => {});
  await client.connect();
  opened.defer(() => client.end());
  return client;
}
