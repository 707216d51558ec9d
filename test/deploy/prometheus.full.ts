import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { freePort } from '../../tooling/free-port.ts';
import { apiClient } from '../support/api-client.ts';
import { typeErrors } from '../support/documents/manifests.ts';
import { eventually } from '../support/eventually.ts';
import { alertRules, dashboardQueries } from '../support/monitoring/prometheus.ts';
import { projectFile, run, startProgram, startWith, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';
import { UNHEARD } from '../support/webhooks/webhook-receiver.ts';

/*
 * What the real Prometheus, its programs promtool and prometheus on PATH, makes of deploy/prometheus.yaml, the alerts, and the
 * queries of the dashboard; and whether Grafana would show that as it is meant.
 */

const promtool = (...args: readonly string[]) => run('promtool', args);

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

interface Rule {
  readonly name: string;
  /** `unknown` before its first evaluation. */
  readonly health: 'ok' | 'err' | 'unknown';
  readonly state: 'inactive' | 'pending' | 'firing';
}

/**
 * Starts Prometheus with deploy/prometheus.yaml until the end of the test: scraping one instance, every second.
 *
 * @param target the host and port of its metrics
 */
async function startPrometheus(target: string) {
  const folder = await temporaryFolder();
  const file = join(folder, 'prometheus.yaml');
  const config = parse(await readFile(projectFile('deploy/prometheus.yaml'), 'utf8'));
  Object.assign(config.global, { scrape_interval: '1s', evaluation_interval: '1s' });
  config.scrape_configs[0].static_configs[0].targets = [target];
  await writeFile(file, stringify(config));
  await copyFile(projectFile('deploy/prometheus-rules.yaml'), join(folder, 'prometheus-rules.yaml'));
  const address = `127.0.0.1:${await freePort()}`;
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
  const program = startProgram('prometheus', options, { cwd: folder });
  const get = (path: string) => fetch(`http://${address}${path}`);
  await program.eventually(async () => (await get('/-/ready').catch(() => undefined))?.ok === true);

  return {
    /** What a query results in now. @throws Error if Prometheus refuses it */
    async query(query: string): Promise<Series[]> {
      const { status, error, data } = await (await get(`/api/v1/query?${new URLSearchParams({ query })}`)).json();
      if (status !== 'success') throw new Error(`${query}: ${error}`);
      return data.result;
    },
    async rules(): Promise<Rule[]> {
      const { data } = await (await get('/api/v1/rules')).json();
      return data.groups.flatMap((group: { rules: Rule[] }) => group.rules);
    },
  };
}

const ALERT_TESTS = projectFile('test/deploy/prometheus-rules.yaml');

describe('promtool', () => {
  test('accepts the configuration with the alerts', async () => {
    const checked = await promtool('check', 'config', projectFile('deploy/prometheus.yaml'));
    expect(checked).toMatchObject({ code: 0, stderr: '' });
  });

  test('finds that each alert fires when it should, and not otherwise', async () => {
    expect(await promtool('test', 'rules', ALERT_TESTS)).toMatchObject({ code: 0, stderr: '' });
    const tested = new Set((await readFile(ALERT_TESTS, 'utf8')).match(/(?<=alertname=")\w+/g));
    expect([...tested].sort()).toEqual((await alertRules()).map(({ alert }) => alert).sort());
  });
});

test('the dashboard has only fields that Grafana knows, and panels of their own', async () => {
  const dashboard = JSON.parse(await readFile(projectFile('deploy/grafana-dashboard.json'), 'utf8'));
  expect(await typeErrors([{ type: `import('@grafana/schema').Dashboard`, value: dashboard }])).toBe('');
  const { panels }: { panels: { id: number; gridPos: object }[] } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size).toBe(panels.length);
});

test('Prometheus has data for every panel of the dashboard, and evaluates every alert', async () => {
  const { url: DATABASE_URL } = await migratedDatabase();
  const service = await startWith({ DATABASE_URL, ...UNHEARD });
  const prometheus = await startPrometheus(new URL(service.managementUrl).host);
  const client = apiClient(service.apiUrl);
  const send = async (...request: Parameters<typeof client.send>) => (await client.send(...request)).status;
  const panels = await dashboardQueries('4s');
  expect(panels.length).toBeGreaterThan(10);
  let id = 0;
  let empty: string[] = [];
  const isShown = async ({ query, legend }: (typeof panels)[number]) => {
    const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const series = await prometheus.query(query);
    return series.some(
      ({ metric, value }) => Number.isFinite(Number(value[1])) && labels.every((label) => metric[label]),
    );
  };
  try {
    await eventually(async () => {
      expect([
        await send('POST', '/plants', { body: `{"id":${++id},"name":"Monstera"}` }),
        await send('PUT', `/plants/${id}`, { body: '{"name":"Ficus"}' }),
        await send('GET', '/plants'),
        await send('GET', '/changes'),
        await send('DELETE', `/plants/${id}`),
        await send('GET', `/plants/${id}`),
      ]).toEqual([200, 200, 200, 200, 204, 410]);
      const shown = await Promise.all(panels.map(isShown));
      empty = panels.filter((_, n) => !shown[n]).map(({ title, legend }) => `${title}: ${legend}`);
      return empty.length === 0;
    });
  } finally {
    expect(empty).toEqual([]);
  }

  await eventually(async () => (await prometheus.rules()).every(({ health }) => health !== 'unknown'));
  const rules = await prometheus.rules();
  const expected = (await alertRules()).map(({ alert }) => ({ name: alert, health: 'ok' }));
  expect(rules).toMatchObject(expected);
  expect(rules.filter(({ state }) => state === 'firing')).toEqual([]);

  const file = join(await temporaryFolder(), 'metrics.txt');
  await writeFile(file, await (await fetch(`${service.managementUrl}/metrics`)).text());
  const checked = await run('sh', ['-c', 'promtool check metrics < "$0"', file]);
  expect(checked).toEqual({ code: 0, stdout: '', stderr: '' });
});
