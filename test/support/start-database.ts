import { GenericContainer, Wait } from 'testcontainers';
import { startPostgresServer } from '../../tooling/postgres-server.ts';

/*
 * Jest's global set-up: finds a real Postgres for the tests, says which, and leaves its address in
 * TEST_SERVER_URL for test-database.ts.
 */

declare global {
  var stopTestServer: (() => Promise<unknown>) | undefined;
}

const IMAGE = 'postgres:18-alpine';

export default async function startDatabase(): Promise<void> {
  const given = process.env.TEST_DATABASE_URL;
  const { name, url, stop } = given ? { name: 'TEST_DATABASE_URL', url: given, stop: undefined } : await ownServer();
  process.env.TEST_SERVER_URL = url;
  globalThis.stopTestServer = stop;
  process.stdout.write(`The tests run on Postgres from ${name}\n`);
}

async function ownServer() {
  try {
    return await containerServer();
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0];
    const server = await startPostgresServer(['fsync=off', 'max_connections=200']);
    return { name: `embedded binaries (no container: ${reason})`, url: server.url, stop: server.stop };
  }
}

async function containerServer() {
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: 'database-password' })
    .withExposedPorts(5432)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=200'])
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
