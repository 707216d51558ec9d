import { existsSync } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { type IJob, Job } from 'kubernetes-models/batch/v1';
import { type IPodDisruptionBudget, PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { type IService, Service } from 'kubernetes-models/v1';
import { pino } from 'pino';
import { parseAllDocuments } from 'yaml';
import { management } from '../src/adapters/http/management.ts';
import { serve } from '../src/adapters/http/sockets/server.ts';
import { readConfig, readMigrationConfig } from '../src/config/config.ts';
import { projectFile, startNode, temporaryFolder } from './support/service-process.ts';

/* Whether a cluster would take deploy/kubernetes as it is meant, and the service what it is given there. */

type Manifest = IDeployment | IService | IJob | IPodDisruptionBudget;
type Container = NonNullable<NonNullable<IDeployment['spec']>['template']['spec']>['containers'][number];

const models = { Deployment, Service, Job, PodDisruptionBudget };
const importOf = { Deployment: 'apps/v1', Service: 'v1', Job: 'batch/v1', PodDisruptionBudget: 'policy/v1' };

let manifests: Manifest[];
let deployment: IDeployment;
let job: IJob;
let service: IService;
beforeAll(async () => {
  const folder = projectFile('deploy/kubernetes');
  const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  manifests = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()));
  const only = (kind: string) => {
    const [found, ...more] = manifests.filter((manifest) => manifest.kind === kind);
    if (found === undefined || more.length > 0) throw new Error(`there must be one ${kind}`);
    return found;
  };
  deployment = only('Deployment') as IDeployment;
  job = only('Job') as IJob;
  service = only('Service') as IService;
});

const podOf = ({ spec }: IDeployment | IJob) => {
  if (spec?.template.spec === undefined) throw new Error('it has no pod');
  return spec.template.spec;
};
const containerOf = (workload: IDeployment | IJob): Container => {
  const [container, ...more] = podOf(workload).containers;
  if (container === undefined || more.length > 0) throw new Error('it must have one container');
  return container;
};

describe('every manifest', () => {
  test('fits the schema of its kind', () => {
    expect(manifests.length).toBeGreaterThan(3);
    for (const { kind, ...fields } of manifests) new models[kind]({ kind, ...fields } as never).validate();
  });

  test('that breaks the schema would be found out', () => {
    const broken = structuredClone(deployment) as { spec: { replicas: unknown } };
    broken.spec.replicas = '3';
    expect(() => new Deployment(broken as never).validate()).toThrow('data/spec/replicas must be integer');
  });

  /** What the compiler says of manifests as values of their types: those know every field, and the schemas let others pass. */
  async function compiled(values: readonly Manifest[]): Promise<string> {
    const folder = await temporaryFolder();
    await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
    const lines = values.map(
      (value, index) =>
        `export const value${index}: import('kubernetes-models/${importOf[value.kind]}').I${value.kind} = ${JSON.stringify(value)};`,
    );
    await writeFile(join(folder, 'manifests.mts'), lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
    const tsc = startNode([projectFile('node_modules/typescript/bin/tsc'), ...options, 'manifests.mts'], folder);
    await tsc.exited;
    return tsc.stdout() + tsc.stderr();
  }

  test('has only fields that its kind knows', async () => {
    expect(await compiled(manifests)).toBe('');
    const misspelt = { ...service, spec: { ...service.spec, selectors: {} } } as IService;
    expect(await compiled([misspelt])).toContain(`'"selectors"' does not exist in type`);
  });

  test('refers to secrets and holds none', () => {
    expect(manifests.map(({ kind }) => kind)).not.toContain('Secret');
    for (const [workload, urlName] of [
      [deployment, 'DATABASE_URL'],
      [job, 'MIGRATION_DATABASE_URL'],
    ] as const) {
      const { env = [] } = containerOf(workload);
      const fixed = env.filter(({ value }) => value !== undefined).map(({ name }) => name);
      expect(fixed).not.toContain(urlName);
      expect(fixed).not.toContain('ACCESS_TOKENS');
      expect(env.find(({ name }) => name === urlName)?.valueFrom?.secretKeyRef?.name).toBe('plant-store');
    }
  });
});

test('docs/operations.md prepares the database, and grants the service its rights between migration and rollout', async () => {
  const [, preparation = '', grants = ''] = (await readFile(projectFile('docs/security.md'), 'utf8')).split('```sql\n');
  const operations = await readFile(projectFile('docs/operations.md'), 'utf8');
  const [section = ''] = /^## Kubernetes\n.*?(?=^## )/ms.exec(operations) ?? [];
  const [prose = '', steps = ''] = section.split('```sh\n');
  expect(preparation).toMatch(/^CREATE ROLE plants_migrator /);
  expect(prose).toContain('(security.md#the-database)');
  const statements = [...(grants.split('```')[0] ?? '').matchAll(/^GRANT .*(?=;$)/gm)].map(([statement]) => statement);
  expect(statements.length).toBeGreaterThan(0);
  const inOrder = ['replace --force -f deploy/kubernetes/migration-job.yaml', 'kubectl wait', ...statements];
  const places = [...inOrder, 'kubectl apply -f deploy/kubernetes/deployment.yaml'].map((step) => steps.indexOf(step));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

describe('the workloads', () => {
  test('have the least rights', () => {
    for (const workload of [deployment, job]) {
      const pod = podOf(workload);
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod.securityContext?.runAsUser).toBeGreaterThan(0);
      expect(containerOf(workload).securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('run the same image, and a migration that exists', () => {
    expect(containerOf(job).image).toBe(containerOf(deployment).image);
    const [program, script = '', command] = containerOf(job).command ?? [];
    expect([program, existsSync(projectFile(script)), command]).toEqual(['node', true, 'up']);
  });

  /** The environment in the container, the secrets filled in, that notes which variables are read. */
  function environmentOf(container: Container, secrets: Record<string, string>) {
    const read = new Set<string>();
    const pairs = (container.env ?? []).map(({ name, value, valueFrom }) => {
      const secret = secrets[valueFrom?.secretKeyRef?.key ?? ''];
      return [name, name === 'ACCESS_TOKENS_FILE' ? secrets['access-tokens'] : (value ?? secret)];
    });
    const environment: Record<string, string | undefined> = Object.fromEntries(pairs);
    const noted = new Proxy(environment, {
      get(target, name: string) {
        read.add(name);
        return target[name];
      },
    });
    return { environment: noted, unread: () => Object.keys(environment).filter((name) => !read.has(name)) };
  }

  test('are configured by variables that the service knows, with values that it takes', async () => {
    const url = 'postgres://plants:password@database/plants';
    const tokens = join(await temporaryFolder(), 'access-tokens');
    await writeFile(tokens, 'token-for-the-tests\n');
    const api = environmentOf(containerOf(deployment), { 'database-url': url, 'access-tokens': tokens });
    expect(readConfig(api.environment).database).toMatchObject({ kind: 'postgres', url });
    expect(api.unread()).toEqual([]);

    const migration = environmentOf(containerOf(job), { 'migration-database-url': url });
    expect(readMigrationConfig(migration.environment)).toMatchObject({ kind: 'postgres', url });
    expect(migration.unread()).toEqual([]);
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
    const settingOf = (name: string) => env.find((variable) => variable.name === name)?.value;
    const { shutdownDelay, shutdownTimeout } = readConfig({
      SHUTDOWN_DELAY: settingOf('SHUTDOWN_DELAY'),
      SHUTDOWN_TIMEOUT: settingOf('SHUTDOWN_TIMEOUT'),
    });
    const wait = lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(wait).toBeGreaterThan(0);
    expect(shutdownDelay).toBe(0);
    const needed = wait + shutdownTimeout / 1_000;
    expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThan(needed);
  });
});

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
  });

  test('answer where they are probed and scraped', async () => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(deployment);
    const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
    expect(probes.map((probe) => probe?.port)).toEqual(['management', 'management', 'management']);
    const scraped = deployment.spec?.template.metadata?.annotations?.['prometheus.io/path'];
    const log = pino({ level: 'silent' });
    const metrics = { contentType: 'text/plain', text: async () => '' };
    const server = await serve(management({}, metrics, log), '127.0.0.1', 0, log);
    try {
      for (const path of [...probes.map((probe) => probe?.path), scraped]) {
        expect([path, (await fetch(`${server.url}${path}`)).status]).toEqual([path, 200]);
      }
    } finally {
      await server.close(0);
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
