import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { projectFile, startAsNobody, temporaryFolder } from '../service-process.ts';
import { debianProgram } from './debian-program.ts';

export interface Instance {
  readonly apiPort: number;
  readonly managementPort: number;
}

/**
 * Starts haproxy with deploy/haproxy.cfg, its addresses replaced, until the end of the test.
 *
 * @param retries how often it tries to connect again, if not as documented
 */
export async function startHaproxy(instances: readonly Instance[], retries?: number) {
  const port = await freePort();
  const statistics = await freePort();
  const documented = await readFile(projectFile('deploy/haproxy.cfg'), 'utf8');
  const servers = instances.map(
    ({ apiPort, managementPort }, n) => `    server plants${n} 127.0.0.1:${apiPort} port ${managementPort}`,
  );
  const [head = ''] = documented.split(/^ +server plants/m);
  const given = retries === undefined ? head : head.replace(/retries \d+/, `retries ${retries}`);
  const config = [
    given.replace('bind :80', `bind 127.0.0.1:${port}`) + servers.join('\n'),
    `listen statistics\n    bind 127.0.0.1:${statistics}\n    stats enable\n    stats uri /\n`,
  ].join('\n');

  const folder = await temporaryFolder();
  await chmod(folder, 0o755);
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config);
  const proxy = startAsNobody(debianProgram('haproxy'), ['-db', '-f', file]);

  async function up(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${statistics}/;csv`).catch(() => undefined);
    const lines = (await answer?.text())?.split('\n') ?? [];
    return lines.filter((line) => /^[^,]*,plants\d+,/.test(line) && line.includes(',UP,')).length;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    /** Resolves once the health checks have found this number of instances ready. */
    instancesUp: (count: number) => proxy.eventually(async () => (await up()) === count),
  };
}
