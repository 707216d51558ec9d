import { once } from 'node:events';
import { execute } from '../../../tooling/execute.ts';
import { type PostgresServer, startPostgresServer } from '../../../tooling/postgres-server.ts';
import { atEnd } from '../lifetimes.ts';
import { applyMigrations } from '../test-database.ts';

/** Starts a Postgres of the tests' own, until the end of the test: see startPostgresServer. */
export async function ownPostgres(...how: Parameters<typeof startPostgresServer>): Promise<PostgresServer> {
  const server = await startPostgresServer(...how);
  atEnd(server.stop);
  return server;
}

/** The same with every migration applied. @param environment beside that of this process */
export async function migratedPostgres(environment?: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const server = await ownPostgres(undefined, undefined, undefined, environment);
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
