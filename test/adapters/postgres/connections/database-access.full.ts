import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { migrationStatus } from '../../../../src/adapters/postgres/schema/migration-status.ts';
import { canonicalUrl } from '../../../../src/config/database-url.ts';
import { execute } from '../../../../tooling/execute.ts';
import type { PostgresServer } from '../../../../tooling/postgres-server.ts';
import { apiClient } from '../../../support/api-client.ts';
import { post, TOKEN } from '../../../support/api-server.ts';
import { sqlStatements } from '../../../support/documents/markdown.ts';
import { runMigrate } from '../../../support/migrations.ts';
import { selfSignedCertificate, trustUntilTheEnd } from '../../../support/servers/certificate.ts';
import { listening } from '../../../support/servers/local-server.ts';
import { ownPostgres } from '../../../support/servers/own-postgres.ts';
import {
  projectFile,
  readiness,
  type Service,
  startService,
  temporaryFolder,
} from '../../../support/service-process.ts';
import { connect } from '../../../support/test-database.ts';

/*
 * How the service gets into a Postgres that is set up by the statements of docs/postgres.md, and
 * that lets nobody but its superuser in without TLS and a password.
 */

const HBA = `
host    all postgres 127.0.0.1/32 trust
hostssl all all      127.0.0.1/32 scram-sha-256
local   all all                   scram-sha-256
`;

let folder: string;
let server: PostgresServer;
let certificate: { readonly cert: string; readonly key: string };
/** Where it has its socket, as Cloud SQL calls it. */
let socketFolder: string;
/** The statements of the page for a superuser before the first migration. Others are for the tables' owner after it. */
let setUp: string[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  const { certificate: cert, key } = selfSignedCertificate('localhost');
  certificate = { cert, key };
  await writeFile(join(folder, 'trusted.pem'), cert);
  await writeFile(join(folder, 'other.pem'), selfSignedCertificate('other-localhost').certificate);
  const tlsFiles = { 'pg_hba.conf': HBA, 'server.crt': cert, 'server.key': key };
  socketFolder = join(folder, 'project:region:instance');
  await mkdir(socketFolder);
  await chmod(folder, 0o755);
  await chmod(socketFolder, 0o777);
  server = await ownPostgres(['ssl=on', 'fsync=off', `unix_socket_directories=${socketFolder}`], tlsFiles);

  const [first = [], grants = []] = sqlStatements(await readFile(projectFile('docs/postgres.md'), 'utf8'));
  setUp = first;
  await executeAll(server.url, setUp);
  const both = { DATABASE_URL: urlOf('plants_service'), MIGRATION_DATABASE_URL: urlOf('plants_migrator') };
  expect(await runMigrate(both)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^On: .*\n$/) });
  await executeAll(urlOf('plants_migrator'), grants);
});

function passwordOf(role: string): string {
  return new RegExp(`ROLE ${role} LOGIN PASSWORD '(.*)'`).exec(setUp.join('\n'))?.[1] ?? '';
}

const VERIFIED = 'sslmode=verify-full&sslrootcert=trusted.pem';

function urlOf(role: string, query = VERIFIED, { host = 'localhost', port = new URL(server.url).port } = {}): string {
  const password = encodeURIComponent(passwordOf(role));
  const absolute = query.replace(/sslrootcert=(?!system)/, `sslrootcert=${folder}/`);
  return `postgres://${role}:${password}@${host}:${port}/plants?${absolute}`;
}

async function executeAll(url: string, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await execute(url, statement);
}

async function create({ apiUrl }: Service, plant: object) {
  const answer = await post(apiUrl, JSON.stringify(plant));
  return { status: answer.status, ...((await answer.json()) as object) };
}

describe('the role of the service', () => {
  test('is enough for all that the service does', async () => {
    const service = await startService(folder, { DATABASE_URL: urlOf('plants_service'), ACCESS_TOKENS: TOKEN });
    expect(await readiness(service)).toMatchObject({ status: 200 });
    const plant = { id: 1, name: 'Monstera deliciosa' };
    expect(await create(service, plant)).toEqual({ status: 200, name: plant.name });
    expect(await create(service, plant)).toEqual({ status: 200, name: plant.name });
    expect(await create(service, { ...plant, name: 'another' })).toMatchObject({ status: 400, error: 40009 });
    const client = apiClient(service.apiUrl);
    expect((await client.send('PUT', '/plants/1', { body: '{"name":"another"}' })).status).toBe(200);
    expect((await client.send('GET', '/changes')).body).toContain('{"changes":[{"id":1,"name":"another"}]');
    expect((await client.send('DELETE', '/plants/1')).status).toBe(204);
    client.close();
  });

  test('may do nothing else', async () => {
    for (const statement of [
      'UPDATE change_feed SET shift = 1',
      'DELETE FROM plants',
      'ALTER TABLE plants ADD COLUMN more text',
      'SELECT * FROM kysely_migration_lock',
      'CREATE TEMPORARY TABLE more (id bigint)',
      'SET ROLE plants_migrator',
      'SELECT pg_read_file($$PG_VERSION$$)',
    ]) {
      // 42501 is insufficient_privilege.
      await expect(execute(urlOf('plants_service'), statement)).rejects.toMatchObject({ code: '42501' });
    }
  });
});

describe('TLS to Postgres', () => {
  const reached = async (query: string, place = {}) => {
    const { pending } = await migrationStatus(connect(canonicalUrl(urlOf('plants_service', query, place))));
    return pending.length === 0;
  };
  const otherAuthority = { cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } };
  const otherHost = { cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } };
  const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');
  const CHECKED = ['prefer', 'require', 'verify-ca', 'verify-full'].map((mode) => `sslmode=${mode}`);

  test.each(CHECKED)('with %s refuses another authority, none, and another host name', async (mode) => {
    expect(await reached(`${mode}&sslrootcert=trusted.pem`)).toBe(true);
    for (const query of [`${mode}&sslrootcert=other.pem`, mode]) {
      await expect(reached(query)).rejects.toMatchObject(otherAuthority);
    }
    const byAddress = reached(`${mode}&sslrootcert=trusted.pem`, { host: '127.0.0.1' });
    await expect(byAddress).rejects.toMatchObject(otherHost);
  });

  test('is used with sslrootcert alone, and without a check only if the URL says so', async () => {
    expect(await reached('sslrootcert=trusted.pem')).toBe(true);
    await expect(reached('sslrootcert=other.pem')).rejects.toMatchObject(otherAuthority);
    expect(await reached('sslmode=no-verify')).toBe(true);
    for (const query of ['', 'sslmode=disable']) await expect(reached(query)).rejects.toThrow(/no encryption/);
  });

  test.each([
    ['channel_binding=require', 'SCRAM-SHA-256-PLUS'],
    ['channel_binding=prefer', 'SCRAM-SHA-256-PLUS'],
    ['channel_binding=disable', 'SCRAM-SHA-256\0'],
    ['', 'SCRAM-SHA-256\0'],
  ])('with the parameter %j takes the method %j of a server that has both', async (query, method) => {
    const methods = Buffer.from('SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0');
    const offer = Buffer.concat([Buffer.of(0x52, 0, 0, 0, 8 + methods.length, 0, 0, 0, 10), methods]);
    const chosen = Promise.withResolvers<string>();
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('S');
        const tls = new TLSSocket(socket, { isServer: true, ...certificate });
        tls
          .on('error', () => {})
          .once('data', () => {
            tls.write(offer);
            tls.once('data', (answer) => {
              chosen.resolve(`${answer}`);
              tls.destroy();
            });
          });
      });
    });
    const port = `${await listening(server)}`;
    await expect(reached(`${VERIFIED}&${query}`, { port })).rejects.toThrow();
    expect(await chosen.promise).toContain(method);
    if (query !== '') expect(await reached(`${VERIFIED}&${query}`)).toBe(true);
  });

  test('trusts the authorities of the system with sslrootcert=system', async () => {
    await expect(reached('sslrootcert=system')).rejects.toMatchObject(otherAuthority);
    trustUntilTheEnd(certificate.cert);
    expect(await reached('sslrootcert=system')).toBe(true);
  });

  test('is not needed at a socket, whose folder is the parameter host', async () => {
    const { port } = new URL(server.url);
    const url = `postgres://plants_service:${encodeURIComponent(passwordOf('plants_service'))}@/plants`;
    const { pending } = await migrationStatus(connect(`${url}?host=${socketFolder}&port=${port}`));
    expect(pending).toEqual([]);
  });

  test.each(CHECKED)('with %s tells nothing to a server that has none', async (mode) => {
    let received = Buffer.alloc(0);
    const plain = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        received = Buffer.concat([received, bytes]);
        // Postgres's way to say that it does no TLS.
        socket.write('N');
      });
    });
    const refused = expect(reached(mode, { port: `${await listening(plain)}` })).rejects;
    await refused.toThrow('The server does not support SSL connections');
    expect(received).toEqual(SSL_REQUEST);
  });
});

test.each([
  ['the authority is wrong', (url: string) => url.replace('trusted', 'other'), 'as sslrootcert'],
  ['TLS is missing', (url: string) => url.replace(/\?.*/, ''), 'add ?sslmode=require'],
  ['the host name is wrong', (url: string) => url.replace('localhost', '127.0.0.1'), 'name a host of'],
])('if %s, /ready says what to do, and nobody is told the password', async (_what, changed, advice) => {
  const service = await startService(folder, {
    DATABASE_URL: changed(urlOf('plants_service')),
    ACCESS_TOKENS: TOKEN,
    LOG_LEVEL: 'trace',
    // What TLS refuses is tried again until then.
    STORE_TIMEOUT: '500ms',
  });
  const answers = [await create(service, { id: 3, name: 'Ficus' }), await readiness(service)];
  const database = expect.stringContaining(advice);
  expect(answers).toMatchObject([{ status: 503 }, { status: 503, checks: { database } }]);
  service.kill('SIGTERM');
  await service.exited;
  const password = passwordOf('plants_service');
  expect(password.length).toBeGreaterThan(10);
  for (const form of [password, encodeURIComponent(password)])
    expect(JSON.stringify(answers) + service.stdout() + service.stderr()).not.toContain(form);
});
