import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { codeBlocks } from '../support/documents/markdown.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

test('docker-compose.yml publishes the ports that the service names, since those are the ones that it prints', async () => {
  const { services } = parse(await readFile(projectFile('docker-compose.yml'), 'utf8'), { merge: true });
  const { environment, ports } = services['plant-store'];
  const inside = [environment.PORT, environment.MANAGEMENT_PORT];
  expect(inside).toEqual([`\${PORT:-3000}`, `\${MANAGEMENT_PORT:-3001}`]);
  expect(ports).toEqual(inside.map((port) => `127.0.0.1:${port}:${port}`));
});

test('docs/operations.md keeps the token in .env, since every docker compose command needs it', async () => {
  const blocks = codeBlocks(await readFile(projectFile('docs/operations.md'), 'utf8'));
  const { text = '' } = blocks.find(({ text }) => text.includes('docker compose up')) ?? {};
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'docker'), '#!/bin/sh\n', { mode: 0o755 });
  expect(await run('sh', ['-c', text], { PATH: `${folder}:${process.env.PATH}` }, folder)).toMatchObject({ code: 0 });
  const { tokens } = readConfig(parseEnv(await readFile(join(folder, '.env'), 'utf8')));
  expect(tokens.full).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
});
