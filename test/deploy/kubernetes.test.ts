import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management } from '../../src/adapters/http/management.ts';
import { readiness } from '../../src/adapters/http/readiness.ts';
import { readConfig, readDatabaseConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { startServer } from '../support/api-server.ts';
import { containerOf, podOf, readManifests, schemaErrors } from '../support/documents/manifests.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* Whether a cluster would take deploy/kubernetes.yaml as it is meant, the service what it is given there, and who reaches it. */

const { all, only } = await readManifests();
const [deployment, job, service] = [only('Deployment'), only('Job'), only('Service')];

test('every manifest fits the schema of its kind, and has only fields that this knows', async () => {
  expect(all.length).toBeGreaterThan(3);
  expect(await schemaErrors(all)).toBe('');
});

describe('the workloads', () => {
  test('are configured by variables that the service knows, with values that it takes', async () => {
    const url = 'postgres://plants:password@database/plants';
    const tokens = join(await temporaryFolder(), 'access-tokens');
    await writeFile(tokens, 'token-for-the-tests\n');
    /** With the secrets filled in. */
    const environmentOf = ({ env = [] }: ReturnType<typeof containerOf>) =>
      Object.fromEntries(env.map(({ name, value }) => [name, name === 'ACCESS_TOKENS_FILE' ? tokens : (value ?? url)]));
    const [api, migration] = [environmentOf(containerOf(deployment)), environmentOf(containerOf(job))];
    const names = Object.keys(VARIABLES);
    expect(names).toEqual(expect.arrayContaining(Object.keys({ ...api, ...migration })));
    expect(readConfig(api).database).toMatchObject({ kind: 'postgres', url });
    expect(readDatabaseConfig(migration)).toMatchObject({ kind: 'postgres', url });
  });

  test('find the file of tokens where the secret is mounted', () => {
    const container = containerOf(deployment);
    const path = container.env?.find(({ name }) => name === 'ACCESS_TOKENS_FILE')?.value;
    const mount = container.volumeMounts?.find(({ name }) => name === 'access-tokens');
    const volume = podOf(deployment).volumes?.find(({ name }) => name === 'access-tokens');
    expect(path).toBe(`${mount?.mountPath}/${volume?.secret?.items?.[0]?.path}`);
  });

  test('are given the time that an orderly end takes', () => {
    const { env = [], lifecycle } = containerOf(deployment);
    const settings = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const { SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT } = settings;
    const config = readConfig({ SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT });
    const wait = lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(wait).toBeGreaterThan(0);
    expect(config.SHUTDOWN_DELAY).toBe(0);
    expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThan(wait + config.SHUTDOWN_TIMEOUT / 1_000);
  });
});

describe('the ports', () => {
  test('are those where the service listens, is probed and is scraped', async () => {
    const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(deployment);
    const { annotations = {} } = deployment.spec?.template.metadata ?? {};
    const defaults = readConfig({});
    expect(ports).toEqual([
      { name: 'http', containerPort: defaults.PORT },
      { name: 'management', containerPort: defaults.MANAGEMENT_PORT },
    ]);
    expect(annotations).toMatchObject({ 'prometheus.io/port': `${defaults.MANAGEMENT_PORT}` });
    const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
    expect(probes.map((probe) => probe?.port)).toEqual(Array(3).fill('management'));
    const { url } = await startServer(management(readiness({}), async () => '', '0.0.0.0', pino({ level: 'silent' })));
    for (const path of [...probes.map((probe) => probe?.path), annotations['prometheus.io/path']]) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    }
  });

  test('are reached by the Service, which selects the pods as the Deployment does', () => {
    const labels = deployment.spec?.template.metadata?.labels;
    expect(deployment.spec?.selector.matchLabels).toEqual(labels);
    expect(service.spec?.selector).toEqual(labels);
    expect(service.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
    expect(job.spec?.template.metadata?.labels).not.toEqual(labels);
  });
});
