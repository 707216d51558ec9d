import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../src/adapters/http/sockets/server.ts';
import type { AddPlant } from '../src/application/ports.ts';
import { PlantStoreError } from '../src/domain/errors.ts';
import type { NewPlant } from '../src/domain/plant.ts';
import { startApiServer, TOKEN } from './support/api-server.ts';
import { fakePlants } from './support/fake-plants.ts';
import { projectFile, temporaryFolder } from './support/service-process.ts';

/* The programs in examples, run against the service. Needs curl and python3, which every Debian has. */

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env: { PATH: process.env.PATH, ...env } }, (error, stdout, stderr) => {
      if (typeof error?.code === 'string') reject(new Error(`cannot run ${program}: ${error.message}`));
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

/** The client's own compiler, which its generator needs to be an older one, or that of this project. */
const tsc = (of: 'examples/client' | '.', folder: string) =>
  run(process.execPath, [projectFile(join(of, 'node_modules/typescript/bin/tsc')), '-p', folder]);

const clients: [name: string, program: string, args: (plant: NewPlant) => string[]][] = [
  ['TypeScript', process.execPath, (plant) => [projectFile('examples/client/create-plant.ts'), ...words(plant)]],
  ['Python', 'python3', (plant) => [projectFile('examples/create-plant.py'), ...words(plant)]],
  ['curl', 'sh', (plant) => [projectFile('examples/create-plant.sh'), json(plant)]],
];
const words = ({ id, name, tag }: NewPlant) => [String(id), name, ...(tag === undefined ? [] : [tag])];
const json = ({ id, ...plant }: NewPlant) => JSON.stringify({ id: 0, ...plant }).replace('0', String(id));

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };

describe.each(clients)('the client in %s', (_name, program, args) => {
  let stored: Map<bigint, NewPlant>;
  let plants: AddPlant;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map();
    plants = fakePlants(stored);
    server = await startApiServer({ plants: { add: (plant) => plants.add(plant) } });
  });
  afterEach(() => server.close(0));

  const create = (plant: NewPlant, { url = server.url, token = TOKEN } = {}) =>
    run(program, args(plant), { PLANT_STORE_URL: url, ACCESS_TOKEN: token });

  /** What it says of an error. */
  const said = (error: number, remedy: string) => ({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(`^${error}: \\S.* \\(${remedy}; request [\\w-]{36}\\)\\n$`),
  });

  test('creates a plant, its id exact, and may do so again', async () => {
    for (let times = 1; times <= 2; times++) {
      const { code, stdout, stderr } = await create(pine);
      expect([code, stderr]).toEqual([0, '']);
      expect(JSON.parse(stdout)).toEqual({ name: pine.name, tag: pine.tag });
    }
    expect([...stored.values()]).toEqual([pine]);
  });

  test('creates one without a tag', async () => {
    expect((await create({ id: -1n, name: '' })).code).toBe(0);
    expect([...stored.values()]).toEqual([{ id: -1n, name: '' }]);
  });

  test('says which plant is at fault, and how', async () => {
    await create(pine);
    expect(await create({ ...pine, name: 'Pinus' })).toEqual(said(40009, 'give it another id'));
    expect(await create({ ...pine, id: 2n ** 63n })).toEqual(said(40022, 'mend the plant'));
  });

  test('says that the token is missing or refused', async () => {
    expect(await create(pine, { token: '' })).toEqual(said(40100, 'get a token'));
    expect(await create(pine, { token: 'another-token-than-that' })).toEqual(said(40101, 'get a token'));
  });

  test('says that it asks for what is not there', async () => {
    expect(await create(pine, { url: `${server.url}/v1` })).toEqual(said(40400, 'mend this program'));
  });

  test('sends the plant again when the store was unavailable for a moment', async () => {
    const real = plants;
    plants = {
      async add() {
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    expect(await create(pine)).toMatchObject({ code: 0, stderr: '' });
    expect([...stored.values()]).toEqual([pine]);
  });

  test('asks to report a defect of the service', async () => {
    plants = { add: () => Promise.reject(new Error('a defect')) };
    expect(await create(pine)).toEqual(said(50000, 'report it'));
  });
});

describe('the types of the TypeScript client', () => {
  test('are made of the document', async () => {
    const [document, made] = [projectFile('test/golden/openapi.json'), join(await temporaryFolder(), 'plant-store.ts')];
    const { stderr } = await run(process.execPath, [projectFile('examples/client/generate.ts'), document, made]);
    expect(stderr).toBe('');
    // If not: npm run generate -w examples/client -- ../../test/golden/openapi.json
    expect(await readFile(projectFile('examples/client/plant-store.ts'), 'utf8')).toBe(await readFile(made, 'utf8'));
  });

  test('fit it', async () => {
    expect(await tsc('examples/client', projectFile('examples/client'))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test.each([
    ['an error number that is forgotten', '    case 43100:\n', '', 'Function lacks ending return statement'],
    ['one that there is not', 'case 43100:', 'case 43100: case 43101:', "Type '43101' is not comparable"],
    ['an id that is no bigint', 'BigInt(id)', 'Number(id)', "Type 'number' is not assignable to type 'bigint'"],
  ])('do not let pass %s', async (_what, right, wrong, complaint) => {
    const copy = await temporaryFolder();
    await symlink(projectFile('node_modules'), join(copy, 'node_modules'));
    for (const file of ['package.json', 'tsconfig.json', 'plant-store.ts']) {
      await cp(projectFile(`examples/client/${file}`), join(copy, file));
    }
    const source = await readFile(projectFile('examples/client/create-plant.ts'), 'utf8');
    expect(source).toContain(right);
    await writeFile(join(copy, 'create-plant.ts'), source.replace(right, wrong));
    expect((await tsc('.', copy)).stdout).toContain(complaint);
  });
});
