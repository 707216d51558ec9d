import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exactFetch } from '../../../../examples/client/exact-fetch.ts';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { freePort } from '../../../../tooling/free-port.ts';
import type { Connect } from '../../../openapi-tools/plant-client.ts';
import { get, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { installTools, output } from '../../../support/documents/installed-tools.ts';
import { type Block, codeBlocks } from '../../../support/documents/markdown.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { projectFile, startNode, startProgram } from '../../../support/service-process.ts';

/* What others make of the OpenAPI document: clients in TypeScript, and a proxy that checks requests and responses. */

const tools = installTools('test/openapi-tools');
/** What a running service has at /openapi.json, but for its address. */
const golden = projectFile('test/golden/openapi.json');

let stored: Map<bigint, NewPlant | 'deleted'>;
let server: HttpServer;
beforeEach(async () => {
  stored = new Map();
  server = await startApiServer({ plants: fakePlants(stored) });
});

const generators: [name: string, program: string, args: string][] = [
  ['openapi-fetch', 'openapi-typescript', 'openapi.json -o generated/openapi-fetch.ts'],
  ['hey-api', 'openapi-ts', '-i openapi.json -o generated/hey-api'],
  ['orval', 'orval', '--config orval.config.mjs'],
  ['swagger-typescript-api', 'swagger-typescript-api', 'generate -p openapi.json -o generated -n $name.ts'],
];

type Ids = readonly [bigint, bigint];

const asItIs = () => readFile(golden, 'utf8');
const stringIds = async () => output('.', [projectFile('examples/client/string-ids.ts')], await asItIs());
const numbers: Ids = [1n, BigInt(Number.MAX_SAFE_INTEGER)];
const all: Ids = [-(2n ** 63n), 2n ** 53n + 1n];

/** With the ids to use, and an id as the clients have it. */
const variants: [string, string, () => Promise<string>, typeof globalThis.fetch, Ids, (id: bigint) => unknown][] = [
  ['as-it-is', 'the document as it is, with ids that a number can hold', asItIs, fetch, numbers, Number],
  ['string-ids', 'the document with string ids, with all ids', stringIds, exactFetch, all, String],
];

describe.each(variants)('%s: clients made of %s', (name, _what, document, fetch, ids, idOf) => {
  let folder: string;
  beforeAll(async () => {
    folder = await tools.folder(name);
    await writeFile(join(folder, 'openapi.json'), await document());
    for (const [name, program, args] of generators) {
      await output(folder, [tools.bin(program), ...args.replace('$name', name).split(' ')]);
    }
  });

  test.each(generators)('%s runs every operation', async (generator) => {
    const { connect }: { connect: Connect<unknown> } = await import(join(folder, `${generator}.ts`));
    const client = connect(server.url, TOKEN, fetch);
    const [first, second] = ids;
    const plant = { name: 'Ficus', tag: 'tree' };
    for (const id of ids) expect(await client.create({ id: idOf(id), ...plant })).toEqual(plant);
    expect(await client.find(idOf(second))).toEqual({ id: idOf(second), ...plant });
    expect(await client.list(idOf(first))).toEqual([idOf(second)]);
    expect(await client.change(idOf(second), { name: 'Acer' })).toBe('Acer');
    expect(await client.remove(idOf(first))).toBe(204);
    expect(await client.errorOf(idOf(first))).toBe(41000);
    expect(await client.changes()).toEqual([
      { id: idOf(second), name: 'Acer' },
      { id: idOf(first), deleted: true },
    ]);
    expect(new Map(stored)).toEqual(
      new Map<bigint, unknown>([
        [first, 'deleted'],
        [second, { id: second, name: 'Acer' }],
      ]),
    );
  });

  test('all have types that fit their use', async () => {
    expect(await output(folder, [tools.bin('tsc'), '-p', '.'])).toBe('');
  });
});

describe('examples/README.md', () => {
  /** The heading of each section, and its blocks: commands, and files that are named in their first line. */
  const sections = readFileSync(projectFile('examples/README.md'), 'utf8')
    .split(/^##+ /m)
    .map((section): [name: string, blocks: Block[]] => [section.split('\n')[0] ?? '', codeBlocks(section)])
    .filter(([, blocks]) => blocks.length > 0);
  const [[, setUp] = ['', []], ...examples] = sections;

  test.each(examples)('has a whole client made by %s', async (name, blocks) => {
    const folder = await tools.folder(`documented-${generators.findIndex(([, program]) => name.includes(program))}`);
    const files = blocks.filter(({ language }) => language !== 'sh');
    const commands = [...setUp, ...blocks].filter(({ language }) => language === 'sh').map(({ text }) => text);
    for (const { text } of files) {
      const [, file = ''] = /^\/\/ (\S+)\n/.exec(text) ?? [];
      await writeFile(join(folder, file), text.replaceAll('http://127.0.0.1:3000', server.url));
    }
    // The tools are here already.
    const script = ['npm() { :; }', ...commands, 'node plants.ts']
      .join('\n')
      .replace('mkdir ../plant-client && cd ../plant-client', '')
      .replaceAll('../plant-store/examples', projectFile('examples'))
      .replace('$(cat ../plant-store/data/access-token)', TOKEN)
      .replaceAll('http://127.0.0.1:3000', server.url);
    const path = [dirname(process.execPath), tools.bin(''), process.env.PATH].join(':');
    const shell = startProgram('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: { ...process.env, PATH: path },
    });
    await shell.exited;
    expect(shell.stdout() + shell.stderr()).toContain("{ name: 'Ficus' }\n");
    expect([...stored.keys()]).toEqual([9007199254740993n]);
  });
});

describe('Prism, as a proxy that validates', () => {
  let url: string;
  beforeEach(async () => {
    const port = await freePort();
    const args = ['proxy', golden, server.url, '--errors', '--port', `${port}`];
    const prism = startNode([tools.bin('prism'), ...args], projectFile(''));
    await prism.until(() => prism.stdout().includes('Prism is listening'));
    url = `http://127.0.0.1:${port}`;
  });

  /** Sends a request through it. @returns the status, and what Prism complains about */
  async function send(method: string, path: string, headers: Record<string, string> = {}, body?: object) {
    const type = body ? { 'Content-Type': 'application/json' } : {};
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, ...type, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const isPrism = response.headers.get('Content-Type') === 'application/problem+json';
    return [response.status, isPrism ? await response.text() : ''];
  }

  test('has no complaint about any operation', async () => {
    for (const id of [1, 2, 2]) expect(await send('POST', '/plants', {}, { id, name: 'Ficus' })).toEqual([200, '']);
    expect(await send('POST', '/plants', {}, { id: 2, name: 'Acer' })).toEqual([400, '']);
    for (const query of ['', '?limit=1', '?after=1', '?tag=', '?limit=5000']) {
      expect(await send('GET', `/plants${query}`)).toEqual([200, '']);
      expect(await send('GET', `/plants${query}`, { Accept: 'application/x-ndjson' })).toEqual([200, '']);
    }
    const etag = (await get(server.url, '/plants/2')).headers.get('ETag') ?? '';
    expect(await send('GET', '/plants/2')).toEqual([200, '']);
    expect(await send('GET', '/plants/2', { 'If-None-Match': etag })).toEqual([304, '']);
    expect(await send('PUT', '/plants/2', { 'If-Match': etag }, { id: 2, name: 'Acer' })).toEqual([200, '']);
    expect(await send('PUT', '/plants/2', { 'If-Match': etag }, { name: 'Larix' })).toEqual([412, '']);
    for (let time = 0; time < 2; time++) expect(await send('DELETE', '/plants/2')).toEqual([204, '']);
    expect(await send('GET', '/plants/2')).toEqual([410, '']);
    expect(await send('GET', '/plants/3')).toEqual([404, '']);
    for (const query of ['', '?limit=1&wait=0']) expect(await send('GET', `/changes${query}`)).toEqual([200, '']);
    expect(await send('GET', '/changes?after=x')).toEqual([400, '']);
  });

  test('complains about ids that JavaScript would round', async () => {
    const complaint = expect.stringContaining('must be <= 9007199254740991');
    expect(await send('GET', `/plants/${2n ** 53n}`)).toEqual([422, complaint]);
    stored.set(2n ** 53n, { id: 2n ** 53n, name: 'Ficus' });
    expect(await send('GET', '/plants')).toEqual([500, complaint]);
  });
});
