import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execute } from '../../../tooling/execute.ts';
import { makePostgresTemplate, type PostgresServer, startPostgresServer } from '../../../tooling/postgres-server.ts';

/*
 * Jest's global set-up. It leaves the name of the project in TEST_PROJECT, for tests that are longer or run elsewhere in one
 * of them, and in TEST_SERVER_URL the address of a real Postgres: that of TEST_DATABASE_URL, or else one of its own. What
 * takes long to make is made once in a run and copied: a migrated database, whose name is in TEST_TEMPLATE, the files of a
 * Postgres server, and the compiled code of the processes that the tests start.
 */

declare global {
  var stopTestServer: (() => Promise<unknown>) | undefined;
}

export default async function startDatabase(_: unknown, project: { displayName?: { name: string } }): Promise<void> {
  process.env.TEST_PROJECT = project.displayName?.name ?? '';
  // Debian keeps servers there, which is not in everybody's PATH.
  process.env.PATH += ':/usr/sbin';
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-tests-'));
  // For a Postgres that root has to run as somebody else.
  await chmod(folder, 0o755);
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compile-cache');
  const { NODE_COMPILE_CACHE } = process.env;
  const run = (program: string, argument: string, DATABASE_URL = '') =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../../src', program), argument], {
      env: { DATABASE_URL, NODE_COMPILE_CACHE },
    });
  const [{ url, stop }] = await Promise.all([
    startServer(folder),
    // So that no process that a test starts has to compile the service.
    run('main.ts', '--version'),
  ]);
  process.env.TEST_SERVER_URL = url;
  const template = `plants_${randomBytes(6).toString('hex')}`;
  await execute(url, `create database ${template}`);
  await run('migrate.ts', 'up', Object.assign(new URL(url), { pathname: template }).href);
  process.env.TEST_TEMPLATE = template;
  globalThis.stopTestServer = async () => {
    await execute(url, `drop database ${template} with (force)`);
    await stop();
    await rm(folder, { recursive: true });
  };
}

async function startServer(folder: string): Promise<Pick<PostgresServer, 'url' | 'stop'>> {
  // Some tests start servers of their own.
  process.env.POSTGRES_TEMPLATE = await makePostgresTemplate(join(folder, 'postgres'));
  const { TEST_DATABASE_URL: url } = process.env;
  return url ? { url, stop: async () => {} } : startPostgresServer(['max_connections=200']);
}
