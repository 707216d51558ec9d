import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management } from '../../src/adapters/http/management.ts';
import { readConfig } from '../../src/config/config.ts';
import { startServer } from '../support/api-server.ts';
import { containerOf, readManifests } from '../support/documents/manifests.ts';
import { projectFile } from '../support/service-process.ts';

/* Who reaches which port of the service in a cluster, and how. */

const { only } = await readManifests();
const [deployment, job, service] = [only('Deployment'), only('Job'), only('Service')];

describe('the ports', () => {
  test('are those where the service listens', () => {
    const { ports } = containerOf(deployment);
    const { api, management } = readConfig({});
    expect(ports).toEqual([
      { name: 'http', containerPort: api.port },
      { name: 'management', containerPort: management.port },
    ]);
    const { annotations } = deployment.spec?.template.metadata ?? {};
    expect(annotations).toMatchObject({ 'prometheus.io/port': `${management.port}` });
    expect(only('PodMonitor').spec.podMetricsEndpoints?.map(({ port }) => port)).toEqual(['management']);
  });

  test('answer where they are probed and scraped', async () => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(deployment);
    const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
    expect(probes.map((probe) => probe?.port)).toEqual(['management', 'management', 'management']);
    const scraped = [
      deployment.spec?.template.metadata?.annotations?.['prometheus.io/path'],
      only('PodMonitor').spec.podMetricsEndpoints?.[0]?.path,
    ];
    const { url } = await startServer(management({}, async () => '', '0.0.0.0', pino({ level: 'silent' })));
    for (const path of [...probes.map((probe) => probe?.path), ...scraped]) {
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

  test('are open to everybody and to the monitoring only, as the NetworkPolicy says', () => {
    const { podSelector, policyTypes, ingress } = only('NetworkPolicy').spec ?? {};
    expect(podSelector).toEqual(deployment.spec?.selector);
    expect(policyTypes).toEqual(['Ingress']);
    const monitoring = { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } };
    expect(ingress).toEqual([
      { ports: [{ port: 'http' }] },
      { ports: [{ port: 'management' }], from: [{ namespaceSelector: monitoring }] },
    ]);
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
