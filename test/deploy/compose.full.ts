import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { NAMES } from '../../src/config/variables.ts';
import { debianProgram } from '../support/servers/debian-program.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* What a real docker compose makes of docker-compose.yml. */

test('every variable in .env reaches the service', async () => {
  const { code } = await run('sh', ['-c', 'docker compose version']);
  const compose = code === 0 ? ['docker', 'compose'] : [await debianProgram('docker-compose')];
  const folder = await temporaryFolder();
  await cp(projectFile('docker-compose.yml'), join(folder, 'docker-compose.yml'));
  // Ports are numbers to it, too.
  const given = Object.fromEntries(NAMES.map((name, n) => [name, `${4000 + n}`]));
  const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), lines.join(''));
  const [program = '', ...args] = [...compose, 'config'];
  const { stdout, stderr } = await run(program, args, { HOME: folder }, folder);
  expect(stderr).toBe('');
  const { services } = parse(stdout);
  for (const service of ['plant-store', 'migrate']) expect(services[service].environment).toMatchObject(given);
});
