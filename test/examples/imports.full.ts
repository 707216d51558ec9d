import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { startApiServer } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { type Example, printed, runExample } from '../support/programs/example-programs.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* The programs that import lists, run against the service. all-programs.full.ts has what all do. */

const python: Example = { language: 'Python', program: 'python3', file: 'import-plants.py' };
const curl: Example = { language: 'curl', program: 'sh', file: 'import-plants.sh' };

let stored: Map<bigint, NewPlant | 'deleted'>;
let server: HttpServer;
beforeEach(async () => {
  stored = new Map([[7n, { id: 7n, name: 'Abies' }]]);
  server = await startApiServer({ plants: fakePlants(stored) });
});

async function importWith(example: Example, name: string, content: string) {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, content);
  return runExample(example, [file], server.url);
}

const CSV = '\uFEFFname;id\r\n"Pinus\nlongaeva";9223372036854775807\r\nRosa;7\r\n;';
const NDJSON = '{"id":9223372036854775807,"name":"Pinus\\nlongaeva"}\n{"id":7,"name":"Rosa"}';

test.each([
  ['list.csv', CSV],
  ['list.ndjson', NDJSON],
])('both import %s, and say what was refused', async (name, content) => {
  const line = name === 'list.csv' ? 4 : 2;
  const message = 'id 7 belongs to a different plant';
  const shown = await importWith(curl, name, content);
  const start = `{"created":1,"changed":0,"unchanged":0,"refused":[{"line":${line},`;
  expect(shown).toEqual({ code: 2, stdout: expect.stringContaining(start), stderr: '' });
  const stderr = `line ${line}: ${message}\n`;
  expect(await importWith(python, name, content)).toEqual({
    code: 2,
    stdout: '0 created, 1 unchanged, 1 refused\n',
    stderr,
  });
  expect(stored.get(2n ** 63n - 1n)).toMatchObject({ name: 'Pinus\nlongaeva' });
});

test.each(['csv', 'ndjson'])('the one in Python imports a list in %s of any length', async (format) => {
  const plants = Array.from({ length: 50_000 }, (_, n) => ({ id: n + 100, name: `${'x'.repeat(n % 100)}\n${n}` }));
  const isCsv = format === 'csv';
  const lines = plants.map(({ id, name }) => (isCsv ? `${id},"${name}"` : JSON.stringify({ id, name })));
  const content = [...(isCsv ? ['id,name'] : []), ...lines].join('\n');
  expect(await importWith(python, `list.${format}`, content)).toEqual(
    printed('50000 created, 0 unchanged, 0 refused\n'),
  );
  expect(stored.size).toBe(50_001);
  expect(stored.get(50_099n)).toEqual({ id: 50_099n, name: plants.at(-1)?.name });
});
