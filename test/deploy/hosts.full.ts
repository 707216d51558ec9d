import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/config/variables.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* What a real docker compose makes of docker-compose.yml, and systemd of the unit in deploy/systemd. */

test('publishes the ports that the service prints', async () => {
  const { services } = parse(await readFile(projectFile('docker-compose.yml'), 'utf8'), { merge: true });
  const { environment, ports } = services['plant-store'];
  const inside = [environment.PORT, environment.MANAGEMENT_PORT];
  expect(inside).toEqual([`\${PORT:-3000}`, `\${MANAGEMENT_PORT:-3001}`]);
  expect(ports).toEqual(inside.map((port) => `127.0.0.1:${port}:${port}`));
});

test('every variable in .env reaches the service', async () => {
  // Ports are numbers to it, too.
  const given = Object.fromEntries(Object.keys(VARIABLES).map((name, n) => [name, `${4000 + n}`]));
  const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\n`);
  const folder = await temporaryFolder();
  await cp(projectFile('docker-compose.yml'), join(folder, 'docker-compose.yml'));
  await writeFile(join(folder, '.env'), ['POSTGRES_PASSWORD=a-password\n', ...lines].join(''));
  const { code } = await run('sh', ['-c', 'docker compose version']);
  const compose = code === 0 ? ['docker', 'compose'] : ['docker-compose'];
  const [program = '', ...args] = [...compose, 'config'];
  const { stdout, stderr } = await run(program, args, { HOME: folder }, folder);
  expect(stderr).toBe('');
  const { services } = parse(stdout);
  for (const service of ['plant-store', 'migrate']) expect(services[service].environment).toMatchObject(given);
});

test('the unit has no mistake, and is as hardened as its compiler and network permit', async () => {
  const folder = await temporaryFolder();
  const text = await readFile(projectFile('deploy/systemd/plant-store@.service'), 'utf8');
  const unit = text.replaceAll('/opt/plant-store', projectFile(''));
  // An instance, beside its template.
  for (const name of ['plant-store@.service', 'plant-store@3001.service']) await writeFile(join(folder, name), unit);
  const instance = join(folder, 'plant-store@3001.service');
  const verified = await run('systemd-analyze', ['verify', '--man=no', instance]);
  expect(verified).toEqual({ code: 0, stdout: '', stderr: '' });
  // Of 100; a unit that restricts nothing has 96.
  const args = ['security', '--offline=yes', '--threshold=11', '--no-pager', instance];
  const { code, stdout } = await run('systemd-analyze', args);
  expect([code, stdout]).toEqual([0, expect.stringContaining('Overall exposure level')]);
});
