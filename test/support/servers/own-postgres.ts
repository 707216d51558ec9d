import { once } from 'node:events';
import { execute } from '../../../tooling/execute.ts';
import { type PostgresServer, startPostgresServer } from '../../../tooling/postgres-server.ts';
import { eventually } from '../eventually.ts';
import { atEnd } from '../lifetimes.ts';
import { applyMigrations } from '../test-database.ts';

/** Starts a Postgres of the tests' own, until the end of the test: see startPostgresServer. */
export async function ownPostgres(...how: Parameters<typeof startPostgresServer>): Promise<PostgresServer> {
  const server = await startPostgresServer(...how);
  atEnd(server.stop);
  return server;
}

/** The same with every migration applied. */
export async function migratedPostgres(): Promise<PostgresServer> {
  const server = await ownPostgres();
  await applyMigrations(server.url);
  return server;
}

/** Ends a server, in order unless by another signal, and keeps its files. */
export async function shutDown(server: PostgresServer, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  const exited = once(server.process, 'exit');
  server.process.kill(signal);
  await exited;
}

/** Makes a standby a primary that waits for no standby of its own. */
export async function promote({ url }: PostgresServer): Promise<void> {
  await execute(url, 'select pg_promote()');
  await execute(url, `alter system set synchronous_standby_names = ''`);
  await execute(url, 'select pg_reload_conf()');
}

/** A primary that commits nothing without its standby, with every migration applied. */
export interface SynchronousPair {
  primary: PostgresServer;
  standby: PostgresServer;
}

/**
 * Starts both, until the end of the test. The standby is a copy of the primary's files, since npm brings no pg_basebackup.
 */
export async function startSynchronousPair(): Promise<SynchronousPair> {
  const single = await startPostgresServer(['fsync=off', 'max_connections=60']);
  await applyMigrations(single.url);
  await execute(single.url, "alter system set synchronous_standby_names = 'standby'");
  await shutDown(single);

  const { port } = new URL(single.url);
  const standby = await startPostgresServer(
    [
      'fsync=off',
      'max_connections=60',
      `primary_conninfo=host=127.0.0.1 port=${port} user=postgres application_name=standby`,
      'wal_retrieve_retry_interval=100ms',
    ],
    { 'standby.signal': '' },
    single.dataFolder,
  );
  const primary = await single.restart();
  await isSynchronous(primary);
  const pair = { primary, standby };
  atEnd(async () => {
    await pair.standby.stop();
    await pair.primary.stop();
  });
  return pair;
}

/** Resolves once the standby confirms what the primary commits. */
export async function isSynchronous(primary: PostgresServer): Promise<void> {
  const standbys = "select 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'";
  await eventually(async () => (await execute(primary.url, standbys)).length === 1);
}
