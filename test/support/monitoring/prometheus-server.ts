import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../../../tooling/free-port.ts';
import { type Outcome, projectFile, run, startProgram, temporaryFolder } from '../service-process.ts';

/* The real Prometheus: the programs promtool and prometheus on PATH. */

const MISSING =
  'promtool is missing: install Prometheus, in Debian by ' +
  '"SYSTEMD_OFFLINE=1 apt-get install --no-install-recommends prometheus", which does not start its service';

/** @throws Error that says how to install it */
export function promtool(...args: readonly string[]): Promise<Outcome> {
  return run('promtool', args).catch((cause) => {
    throw new Error(MISSING, { cause });
  });
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
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
export async function startPrometheus(target: string) {
  const folder = await temporaryFolder();
  const file = join(folder, 'prometheus.yaml');
  const config = parse(await readFile(projectFile('deploy/prometheus.yaml'), 'utf8'));
  Object.assign(config.global, { scrape_interval: '1s', evaluation_interval: '1s' });
  config.scrape_configs[0].static_configs[0].targets = [target];
  await writeFile(file, stringify(config));
  await copyFile(projectFile('deploy/prometheus-rules.yaml'), join(folder, 'prometheus-rules.yaml'));
  const { code, stderr } = await promtool('check', 'config', file);
  if (code !== 0) throw new Error(stderr);

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
      return data.result.map(({ metric, value }: { metric: Series['metric']; value: [number, string] }) => {
        return { metric, value: Number(value[1]) };
      });
    },
    async rules(): Promise<Rule[]> {
      const { data } = await (await get('/api/v1/rules')).json();
      return data.groups.flatMap((group: { rules: Rule[] }) => group.rules);
    },
  };
}
