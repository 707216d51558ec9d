import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { parse } from 'yaml';
import { management } from '../../src/adapters/http/management.ts';
import { readConfig, readDatabaseConfig } from '../../src/config/config.ts';
import { NAMES } from '../../src/config/variables.ts';
import { startServer } from '../support/api-server.ts';
import { containerOf, type Manifest, podOf, readManifests, schemaErrors } from '../support/documents/manifests.ts';
import { codeBlocks } from '../support/documents/markdown.ts';
import { alertRules, queries } from '../support/monitoring/prometheus.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/*
 * Whether a cluster would take deploy/kubernetes as it is meant, the service what it is given there, who reaches it, and how the
 * Prometheus Operator finds it and its alerts.
 */

const { all, only } = await readManifests();
const [deployment, job, service] = [only('Deployment'), only('Job'), only('Service')];

test('every manifest fits the schema of its kind, and has only fields that this knows', async () => {
  expect(all.length).toBeGreaterThan(3);
  expect(await schemaErrors(all)).toBe('');
});

test('docs/operations.md prepares the database, and grants the service its rights between migration and rollout', async () => {
  const operations = await readFile(projectFile('docs/operations.md'), 'utf8');
  const [section = ''] = /^## Kubernetes\n.*?(?=^## )/ms.exec(operations) ?? [];
  const [prose = '', steps = ''] = section.split('```sh\n');
  expect(prose).toContain('(postgres.md#step-by-step)');
  const inOrder = ['migration-job.yaml', 'kubectl wait', 'GRANT', '| psql', 'deployment.yaml'];
  const places = inOrder.map((step) => steps.indexOf(step));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
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
    expect(NAMES).toEqual(expect.arrayContaining(Object.keys({ ...api, ...migration })));
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
    const { shutdownDelay, shutdownTimeout } = readConfig({ SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT });
    const wait = lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(wait).toBeGreaterThan(0);
    expect(shutdownDelay).toBe(0);
    expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThan(wait + shutdownTimeout / 1_000);
  });
});

describe('the ports', () => {
  test('are those where the service listens, and answer where they are probed and scraped', async () => {
    const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(deployment);
    const { annotations = {} } = deployment.spec?.template.metadata ?? {};
    const endpoints = only('PodMonitor').spec.podMetricsEndpoints;
    const defaults = readConfig({});
    expect(ports).toEqual([
      { name: 'http', containerPort: defaults.api.port },
      { name: 'management', containerPort: defaults.management.port },
    ]);
    expect(annotations).toMatchObject({ 'prometheus.io/port': `${defaults.management.port}` });
    const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
    expect([...probes, ...(endpoints ?? [])].map((probe) => probe?.port)).toEqual(Array(4).fill('management'));
    const { url } = await startServer(management({}, async () => '', '0.0.0.0', pino({ level: 'silent' })));
    const paths = [...probes, endpoints?.[0]].map((probe) => probe?.path);
    for (const path of [...paths, annotations['prometheus.io/path']]) {
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

test('the Ingress leads from the public address to the Service, and lets every request of the API through', async () => {
  const { metadata, spec } = only('Ingress');
  const [{ host = '', http } = {}, ...more] = spec?.rules ?? [];
  expect(more).toEqual([]);
  const baseUrl = containerOf(deployment).env?.find(({ name }) => name === 'BASE_URL')?.value ?? '';
  expect(host).toBe(new URL(baseUrl).host);
  expect(spec?.tls?.[0]?.hosts).toEqual([host]);
  const backend = { service: { name: service.metadata?.name, port: { name: service.spec?.ports?.[0]?.name } } };
  expect(http?.paths).toEqual([{ path: '/', pathType: 'Prefix', backend }]);

  const { annotations = {} } = metadata ?? {};
  const setting = (name: string) => annotations[`nginx.org/${name}`] ?? '';
  const { bodyLimit, storeTimeout } = readConfig({});
  expect(Number(/^(\d+)m$/.exec(setting('client-max-body-size'))?.[1]) * 1024 ** 2).toBeGreaterThan(bodyLimit);
  const { paths } = JSON.parse(await readFile(projectFile('test/golden/openapi.json'), 'utf8'));
  const wait = paths['/changes'].get.parameters.find(({ name }: { name: string }) => name === 'wait');
  const longest = wait.schema.maximum + storeTimeout / 1_000;
  expect(Number(/^(\d+)s$/.exec(setting('proxy-read-timeout'))?.[1])).toBeGreaterThan(longest);
  expect(setting('proxy-buffering')).toBe('False');
});

test('the PodMonitor gives its pods the job that the alerts and the dashboard select', async () => {
  const { jobLabel = '', selector } = only('PodMonitor').spec;
  expect(selector).toEqual(deployment.spec?.selector);
  const { scrape_configs } = parse(await readFile(projectFile('deploy/prometheus.yaml'), 'utf8'));
  const [{ job_name }] = scrape_configs;
  expect(deployment.spec?.template.metadata?.labels?.[jobLabel]).toBe(job_name);
  for (const [where, query] of await queries())
    expect([where, query]).toEqual([where, expect.stringContaining(`job="${job_name}"`)]);
});

test('the command of docs/operations.md makes a PrometheusRule of the alerts', async () => {
  const blocks = codeBlocks(await readFile(projectFile('docs/operations.md'), 'utf8'));
  const { text = '' } = blocks.find(({ text }) => text.includes('PrometheusRule')) ?? {};
  const folder = await temporaryFolder();
  // In place of kubectl, shows what it would be given.
  await writeFile(join(folder, 'kubectl'), '#!/bin/sh\ncat\n', { mode: 0o755 });
  const PATH = `${folder}:${process.env.PATH}`;
  const { code, stdout, stderr } = await run('sh', ['-c', text], { PATH }, projectFile(''));
  expect([code, stderr]).toEqual([0, '']);
  const manifest: Manifest = parse(stdout);
  expect(manifest.kind).toBe('PrometheusRule');
  expect(await schemaErrors([manifest])).toBe('');
  expect(manifest.spec).toMatchObject({ groups: [{ rules: await alertRules() }] });
});
