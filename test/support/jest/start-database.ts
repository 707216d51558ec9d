import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GenericContainer, Wait } from 'testcontainers';
import { execute } from '../../../tooling/execute.ts';
import { makePostgresTemplate, startPostgresServer } from '../../../tooling/postgres-server.ts';

/*
 * Jest's global set-up. It leaves the name of the project in TEST_PROJECT, for tests that are longer or run elsewhere in one
 * of them. It finds a real Postgres for the tests, says which, and leaves its address in TEST_SERVER_URL for
 * test-database.ts. What takes long to make is made once in a run and copied: a migrated database, whose name is in
 * TEST_TEMPLATE, and in TEST_FOLDER, which is removed in the end, the files of a Postgres server, and the compiled code of the processes that the tests start.
 */

declare global {
  var stopTestServer: (() => Promise<unknown>) | undefined;
}

const IMAGE = 'postgres:18-alpine';

export default async function startDatabase(_: unknown, project: { displayName?: { name: string } }): Promise<void> {
  process.env.TEST_PROJECT = project.displayName?.name ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-tests-'));
  // For a Postgres that root has to run as somebody else.
  await chmod(folder, 0o755);
  process.env.TEST_FOLDER = folder;
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compile-cache');
  const given = process.env.TEST_DATABASE_URL;
  // It takes seconds, as the search for a container does.
  const files = makePostgresTemplate(join(folder, 'postgres')).then((made) => {
    process.env.POSTGRES_TEMPLATE = made;
  });
  const { NODE_COMPILE_CACHE } = process.env;
  const run = (program: string, argument: string, DATABASE_URL = '') =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../../src', program), argument], {
      env: { DATABASE_URL, NODE_COMPILE_CACHE },
    });
  const [{ name, url, stop }] = await Promise.all([
    given ? { name: 'TEST_DATABASE_URL', url: given, stop: async () => {} } : ownServer(files),
    files,
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
  process.stdout.write(`The tests run on Postgres from ${name}\n`);
}

async function ownServer(files: Promise<void>) {
  try {
    if (process.env.POSTGRES_PACKAGE) throw new Error('POSTGRES_PACKAGE names others');
    return await containerServer();
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0];
    await files;
    const server = await startPostgresServer(['max_connections=200']);
    return { name: `embedded binaries (no container: ${reason})`, url: server.url, stop: server.stop };
  }
}

async function containerServer() {
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: 'database-password' })
    .withExposedPorts(5432)
    .withCommand(['postgres', '-c', 'max_connections=200'])
    .withHealthCheck({
      // Over TCP, since the image's first, temporary server listens on a socket only.
      test: ['CMD-SHELL', 'pg_isready -h 127.0.0.1 -U postgres'],
      interval: 250,
      timeout: 1_000,
      retries: 200,
    })
    .withWaitStrategy(Wait.forHealthCheck())
    .start();
  const url = `postgres://postgres:database-password@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
  return { name: `the container image ${IMAGE}`, url, stop: () => container.stop() };
}
