import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { post } from '../support/api-server.ts';
import { containerOf, readManifests } from '../support/documents/manifests.ts';
import { sqlStatements } from '../support/documents/markdown.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { startPgBouncer } from '../support/servers/pgbouncer.ts';
import { projectFile, readiness, startNode, startWith, temporaryFolder } from '../support/service-process.ts';

/* The recipe for Kubernetes in docs/operations.md, on a real Postgres and PgBouncer, without the cluster. */

const read = (document: string) => readFile(projectFile(document), 'utf8');
const { only } = await readManifests();

test('a pod is ready behind PgBouncer after the statements and the Job of the recipe', async () => {
  const passwords = '\nhost all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n';
  const server = await ownPostgres([], { 'pg_hba.conf': passwords });
  const [setUp = [], grants = []] = sqlStatements(await read('docs/postgres.md'));
  for (const statement of setUp) await execute(server.url, statement);
  const urlOf = (role: string) => {
    const [, password = ''] = new RegExp(`ROLE ${role} LOGIN PASSWORD '(.*)'`).exec(setUp.join('\n')) ?? [];
    return Object.assign(new URL(server.url), { username: role, password, pathname: '/plants' }).href;
  };

  const [, script = '', ...args] = containerOf(only('Job')).command ?? [];
  const MIGRATION_DATABASE_URL = urlOf('plants_migrator');
  const migration = startNode([projectFile(script), ...args], await temporaryFolder(), { MIGRATION_DATABASE_URL });
  expect(await migration.outcome()).toMatchObject({ code: 0 });
  for (const grant of grants) await execute(MIGRATION_DATABASE_URL, grant);

  const pooler = await startPgBouncer(urlOf('plants_service'));
  const { env = [] } = containerOf(only('Deployment'));
  const fixed = env.flatMap(({ name, value }) =>
    value === undefined || name.endsWith('_FILE') ? [] : [[name, value]],
  );
  const service = await startWith({ ...Object.fromEntries(fixed), DATABASE_URL: pooler.url });
  expect(await readiness(service)).toMatchObject({ status: 200, checks: { database: 'ok' } });
  expect((await post(service.apiUrl, '{"id":1,"name":"Monstera"}')).status).toBe(200);
});
