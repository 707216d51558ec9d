import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { projectFile, startAsNobody, startProgram, temporaryFolder } from '../service-process.ts';

/* The proxies that deploy sets up, on free ports until the end of the test, without TLS. */

export interface Instance {
  readonly apiPort: number;
  readonly managementPort: number;
}

/**
 * Starts haproxy with deploy/haproxy.cfg, its addresses replaced.
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
  const proxy = startAsNobody('haproxy', ['-db', '-f', file]);

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

const host = (url: string) => new URL(url).host;

/** deploy/nginx.conf, in front of these instances. */
export async function documentedNginx(apiUrls: readonly string[]): Promise<string> {
  const file = await readFile(projectFile('deploy/nginx.conf'), 'utf8');
  const [server = ''] = /^ *server 127\.0\.0\.1:4001.*\n/m.exec(file) ?? [];
  const servers = apiUrls.map((url) => server.replace('127.0.0.1:4001', host(url))).join('');
  // The limits for each client, too: all requests of a test come from one address.
  const plain = file.replace('listen 443 ssl;', 'listen 80;').replace(/^ *(ssl|limit)_.*\n/gm, '');
  return plain.replace(/(^ *server 127\.0\.0\.1:.*\n)+/m, servers);
}

/**
 * @param configuration as it stands within `http`, with one server that listens at port 80
 * @returns its URL
 */
export async function startNginx(configuration: string): Promise<string> {
  const folder = await temporaryFolder();
  await chmod(folder, 0o777);
  const port = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${paths.join(' ')} ${configuration.replace('listen 80;', `listen 127.0.0.1:${port};`)} }`,
  );
  const url = `http://127.0.0.1:${port}`;
  const proxy = startAsNobody('nginx', ['-c', file, '-p', folder]);
  await proxy.eventually(async () => (await fetch(`${url}/openapi.json`).catch(() => undefined))?.ok === true);
  return url;
}

/** deploy/Caddyfile, in front of these instances. */
export async function documentedCaddy(apiUrls: readonly string[]): Promise<string> {
  const file = await readFile(projectFile('deploy/Caddyfile'), 'utf8');
  return file.replace('127.0.0.1:4001 127.0.0.1:4002', apiUrls.map((url) => new URL(url).host).join(' '));
}

/** @returns its URL */
export async function startCaddy(configuration: string): Promise<string> {
  const folder = await temporaryFolder();
  const url = `http://127.0.0.1:${await freePort()}`;
  const file = join(folder, 'Caddyfile');
  const own = configuration.replace('{\n', '{\n\tadmin off\n').replace('plants.example.com {', `${url} {`);
  await writeFile(file, own);
  const proxy = startProgram('caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  await proxy.eventually(async () => (await fetch(`${url}/openapi.json`).catch(() => undefined))?.ok === true);
  return url;
}
