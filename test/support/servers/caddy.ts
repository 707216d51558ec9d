import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { projectFile, startProgram, temporaryFolder } from '../service-process.ts';
import { debianProgram } from './debian-program.ts';

/** deploy/Caddyfile, in front of these instances, without TLS. */
export async function documentedCaddy(apiUrls: readonly string[]): Promise<string> {
  const file = await readFile(projectFile('deploy/Caddyfile'), 'utf8');
  return file.replace('127.0.0.1:4001 127.0.0.1:4002', apiUrls.map((url) => new URL(url).host).join(' '));
}

/** Starts Caddy until the end of the test. @returns its URL */
export async function startCaddy(configuration: string): Promise<string> {
  const folder = await temporaryFolder();
  const url = `http://127.0.0.1:${await freePort()}`;
  const file = join(folder, 'Caddyfile');
  const own = configuration.replace('{\n', '{\n\tadmin off\n').replace('plants.example.com {', `${url} {`);
  await writeFile(file, own);
  const proxy = startProgram(debianProgram('caddy'), ['run', '--adapter', 'caddyfile', '--config', file], {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  await proxy.eventually(async () => (await fetch(`${url}/openapi.json`).catch(() => undefined))?.ok === true);
  return url;
}
