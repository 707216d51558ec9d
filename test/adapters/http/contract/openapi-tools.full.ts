import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { exactFetch } from '../../../../examples/client/exact-fetch.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { codeBlocks } from '../../../support/documents/markdown.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { projectFile, startNode, temporaryFolder } from '../../../support/service-process.ts';

/* What openapi-typescript and openapi-fetch make of the OpenAPI document. */

/** Uses the client as its types say: the compiler checks it, and the test runs it. */
const USER = `
  import createClient from 'openapi-fetch';
  import type { components, paths } from './plant-store.ts';

  type Id = components['schemas']['NewPlant']['id'];

  export async function use(baseUrl: string, token: string, fetch: typeof globalThis.fetch, first: Id, second: Id) {
    const headers = { Authorization: \`Bearer \${token}\` };
    const { GET, POST, PUT, DELETE } = createClient<paths, 'application/json'>({ baseUrl, headers, fetch });
    const path = (id: Id) => ({ params: { path: { id } } });
    const octets = { headers: { 'Content-Type': 'text/csv' }, bodySerializer: (body: string) => body };
    const seen: unknown[] = [];
    for (const id of [first, second]) seen.push((await POST('/plants', { body: { id, name: 'Ficus' } })).data?.name);
    const l = await GET('/plants', { params: { query: { after: first, limit: 10, name: 'fic' } } });
    if (l.data) seen.push(l.data[0].id satisfies Id);
    const { data } = await createClient<paths, 'application/x-ndjson'>({ baseUrl, headers })
      .GET('/plants', { params: { query: { limit: 1 } }, headers: { Accept: 'application/x-ndjson' }, parseAs: 'text' });
    seen.push(data satisfies string | undefined);
    seen.push((await GET('/plants/{id}', path(second))).data);
    seen.push((await PUT('/plants/{id}', { ...path(second), body: { name: 'Acer' } })).data?.name);
    seen.push((await DELETE('/plants/{id}', path(first))).response.status);
    seen.push((await POST('/import', { body: 'id,name\\n5,Rosa\\n', ...octets })).data?.created);
    seen.push((await GET('/changes', {})).data?.changes);
    const { error } = await GET('/plants/{id}', path(first));
    seen.push(error?.error satisfies number | undefined);
    return seen;
  }

  export type Lines = paths['/plants']['get']['responses'][200]['content'];
  export const texts: [Lines['application/x-ndjson'], Lines['text/csv']] = ['', ''];
`;

async function output(cwd: string, program: string, args: readonly string[], input = ''): Promise<string> {
  const started = startNode([projectFile(`examples/client/${program}`), ...args], cwd);
  started.stdin.end(input);
  const { stdout, stderr } = await started.outcome();
  return stdout + stderr;
}

/** A folder with the types that are made of a document. */
async function generated(document: string): Promise<string> {
  const folder = await temporaryFolder();
  await symlink(projectFile('node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'openapi.json'), document);
  const generator = 'node_modules/openapi-typescript/bin/cli.js';
  expect(await output(folder, generator, ['openapi.json', '-o', 'plant-store.ts'])).toContain('plant-store.ts');
  return folder;
}

function typeErrors(folder: string): Promise<string> {
  const options = '--noEmit --strict --skipLibCheck --target esnext --module nodenext --allowImportingTsExtensions';
  return output(folder, 'node_modules/typescript/bin/tsc', [...options.split(' '), 'user.ts']);
}

const golden = () => readFile(projectFile('test/golden/openapi.json'), 'utf8');
const stringIds = async () => output('.', 'string-ids.ts', [], await golden());

test.each([
  ['as it is', golden, fetch, Number, 1n, BigInt(Number.MAX_SAFE_INTEGER)],
  ['with string ids, and all ids', stringIds, exactFetch, String, -(2n ** 63n), 2n ** 53n + 1n],
] as const)(
  'a client made of the document %s has types that fit their use, and runs every operation',
  async (...args) => {
    const [_what, document, fetch, idOf, first, second] = args;
    const folder = await generated(await document());
    await writeFile(join(folder, 'user.ts'), USER);
    expect(await typeErrors(folder)).toBe('');
    const stored = new Map<bigint, NewPlant | 'deleted'>();
    const server = await startApiServer({ plants: fakePlants(stored) });
    const { use } = await import(join(folder, 'user.ts'));
    expect(await use(server.url, TOKEN, fetch, idOf(first), idOf(second))).toEqual([
      ...['Ficus', 'Ficus', idOf(second), `{"id":${first},"name":"Ficus"}\n`],
      ...[{ id: idOf(second), name: 'Ficus' }, 'Acer', 204, 1],
      [
        { id: idOf(second), name: 'Acer' },
        { id: idOf(first), deleted: true },
        expect.objectContaining({ name: 'Rosa' }),
      ],
      41000,
    ]);
    expect(stored.get(second)).toEqual({ id: second, name: 'Acer' });
    expect(stored.get(first)).toBe('deleted');
  },
);

test('examples/README.md has a whole client with string ids', async () => {
  const server = await startApiServer({ plants: fakePlants() });
  const folder = await generated(await stringIds());
  const [block] = codeBlocks(await readFile(projectFile('examples/README.md'), 'utf8')).filter(
    ({ language }) => language === 'ts',
  );
  await writeFile(join(folder, 'user.ts'), block?.text.replace('http://127.0.0.1:3000', server.url) ?? '');
  for (const file of ['exact-fetch.ts', 'exact-json.ts']) {
    await cp(projectFile(`examples/client/${file}`), join(folder, file));
  }
  expect(await typeErrors(folder)).toBe('');
  const { stdout } = await startNode(['user.ts'], folder, { PLANT_STORE_TOKEN: TOKEN }).outcome();
  expect(stdout).toBe('9007199254740993\n');
});
