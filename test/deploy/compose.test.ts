import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { projectFile } from '../support/service-process.ts';

test('docker-compose.yml publishes the ports that the service names, since those are the ones that it prints', async () => {
  const { services } = parse(await readFile(projectFile('docker-compose.yml'), 'utf8'), { merge: true });
  const { environment, ports } = services['plant-store'];
  const inside = [environment.PORT, environment.MANAGEMENT_PORT];
  expect(inside).toEqual([`\${PORT:-3000}`, `\${MANAGEMENT_PORT:-3001}`]);
  expect(ports).toEqual(inside.map((port) => `127.0.0.1:${port}:${port}`));
});
