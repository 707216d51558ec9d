import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { projectFile, startAsNobody, temporaryFolder } from '../service-process.ts';
import { debianProgram } from './debian-program.ts';

const host = (url: string) => new URL(url).host;

/** deploy/nginx.conf, in front of these instances, without TLS. */
export async function documentedNginx(apiUrls: readonly string[]): Promise<string> {
  const file = await readFile(projectFile('deploy/nginx.conf'), 'utf8');
  const [server = ''] = /^ *server 127\.0\.0\.1:4001.*\n/m.exec(file) ?? [];
  const servers = apiUrls.map((url) => server.replace('127.0.0.1:4001', host(url))).join('');
  // The limits for each client, too: all requests of a test come from one address.
  const plain = file.replace('listen 443 ssl;', 'listen 80;').replace(/^ *(ssl|limit)_.*\n/gm, '');
  return plain.replace(/(^ *server 127\.0\.0\.1:.*\n)+/m, servers);
}

/**
 * Starts nginx until the end of the test.
 *
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
  const proxy = startAsNobody(debianProgram('nginx', 'nginx-light'), ['-c', file, '-p', folder]);
  await proxy.eventually(async () => (await fetch(`${url}/openapi.json`).catch(() => undefined))?.ok === true);
  return url;
}
