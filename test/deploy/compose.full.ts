import { cp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { NAMES } from '../../src/config/variables.ts';
import { codeBlocks } from '../support/documents/markdown.ts';
import { debianProgram } from '../support/servers/debian-program.ts';
import { listening } from '../support/servers/local-server.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* What a real docker compose makes of docker-compose.yml. */

test('docs/operations.md keeps the token in .env, since every docker compose command needs it', async () => {
  const blocks = codeBlocks(await readFile(projectFile('docs/operations.md'), 'utf8'));
  const { text = '' } = blocks.find(({ text }) => text.includes('docker compose up')) ?? {};
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'docker'), '#!/bin/sh\n', { mode: 0o755 });
  expect(await run('sh', ['-c', text], { PATH: `${folder}:${process.env.PATH}` }, folder)).toMatchObject({ code: 0 });
  const { tokens } = readConfig(parseEnv(await readFile(join(folder, '.env'), 'utf8')));
  expect(tokens.full).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

test('publishes the ports that the service names, since those are the ones that it prints', async () => {
  const { services } = parse(await readFile(projectFile('docker-compose.yml'), 'utf8'), { merge: true });
  const { environment, ports } = services['plant-store'];
  const inside = [environment.PORT, environment.MANAGEMENT_PORT];
  expect(inside).toEqual([`\${PORT:-3000}`, `\${MANAGEMENT_PORT:-3001}`]);
  expect(ports).toEqual(inside.map((port) => `127.0.0.1:${port}:${port}`));
});

test('every variable in .env reaches the service', async () => {
  // Ports are numbers to it, too.
  const given = Object.fromEntries(NAMES.map((name, n) => [name, `${4000 + n}`]));
  const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\n`);
  const folder = await composed(lines);
  const { program, isOld } = await findCompose();
  const { stdout, stderr } = await run(program, [...(isOld ? [] : ['compose']), 'config'], { HOME: folder }, folder);
  expect(stderr).toBe('');
  const { services } = parse(stdout);
  for (const service of ['plant-store', 'migrate']) expect(services[service].environment).toMatchObject(given);
});

test('a new version in another folder has the volume of the old one, by the .env of docs/operations.md', async () => {
  const blocks = codeBlocks(await readFile(projectFile('docs/operations.md'), 'utf8'));
  const [, line = ''] =
    /^echo (COMPOSE_PROJECT_NAME=\S+) >> \.env$/m.exec(blocks.map(({ text }) => text).join('')) ?? [];
  const volumes = [await volumeIn(await composed([line])), await volumeIn(await composed([line]))];
  expect(volumes).toEqual(['plant-store_database', 'plant-store_database']);
  // Nothing else than that line does this.
  expect(await volumeIn(await composed([]))).not.toBe(volumes[0]);
});

/** @returns a folder with docker-compose.yml and with these lines in its .env */
async function composed(lines: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  await cp(projectFile('docker-compose.yml'), join(folder, 'docker-compose.yml'));
  await writeFile(join(folder, '.env'), ['POSTGRES_PASSWORD=a-password\n', ...lines].join(''));
  return folder;
}

async function findCompose() {
  const { code } = await run('sh', ['-c', 'docker compose version']);
  const isOld = code !== 0;
  return { isOld, program: isOld ? debianProgram('docker-compose') : 'docker' };
}

/** The name of the volume that Compose uses in a folder. */
async function volumeIn(folder: string): Promise<string | undefined> {
  const { program, isOld } = await findCompose();
  if (!isOld)
    return parse((await run(program, ['compose', 'config'], { HOME: folder }, folder)).stdout).volumes.database.name;
  // `config` of 1.29 does not show it, so an engine without anything is asked to remove it.
  let removed: string | undefined;
  const engine = createServer(({ method, url = '' }, res) => {
    if (method === 'DELETE') removed ??= /\/volumes\/(.*)/.exec(url)?.[1];
    if (/\/version$/.test(url)) res.end('{"ApiVersion":"1.41"}');
    else if (/\/containers\/json/.test(url)) res.end('[]');
    else res.writeHead(404).end('{"message":""}');
  });
  const environment = { DOCKER_HOST: `tcp://127.0.0.1:${await listening(engine)}` };
  const { code, stderr } = await run(program, ['down', '--volumes'], environment, folder);
  expect([code, stderr]).toEqual([0, expect.stringContaining('Removing volume')]);
  return removed;
}
