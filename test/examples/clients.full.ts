import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { AddPlant } from '../../src/application/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import {
  otherResponses,
  runExample,
  said,
  saidNotPlantStore,
  saidToken,
  saidUnreachable,
  saidUsage,
  withResponse,
} from '../support/programs/example-programs.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* The programs in examples that create a plant, run against the service. */

interface Client {
  readonly language: string;
  readonly program: string;
  readonly file: string;
}

const args = ({ id, name, tag }: NewPlant) => [String(id), name, ...(tag === undefined ? [] : [tag])];
const wrongArgs = [[], ['1'], ['one', 'Pinus'], ['', 'Pinus'], ['1.5', 'Pinus'], ['1', 'Pinus', 'conifer', 'more']];
const clients: Client[] = [
  { language: 'TypeScript', program: process.execPath, file: 'client/create-plant.ts' },
  { language: 'Python', program: 'python3', file: 'create-plant.py' },
  { language: 'curl', program: 'sh', file: 'create-plant.sh' },
];

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };

describe.each(clients)('the client in $language', ({ language, program, file }) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let plants: AddPlant;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map();
    plants = fakePlants(stored);
    server = await startApiServer({ plants: { add: (plant) => plants.add(plant) } });
  });
  afterEach(() => server.close(0));

  const runWith = (args: readonly string[], env: Record<string, string>) => runExample({ program, file }, args, env);

  const create = (plant: NewPlant, { url = server.url, token = TOKEN } = {}) =>
    runWith(args(plant), { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token });

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

  test('creates one with any letters in its texts', async () => {
    const odd = { id: 0n, name: '\uFEFF\t\\"\\u0041\u0001\u001f\u007f\n\n', tag: "$(id) '%s' 🌲\\" };
    expect(await create(odd)).toMatchObject({ code: 0, stderr: '' });
    expect([...stored.values()]).toEqual([odd]);
  });

  test('says which plant is at fault, and how', async () => {
    await create(pine);
    expect(await create({ ...pine, name: 'Pinus' })).toEqual(said(40009, 'give it another id'));
    expect(await create({ ...pine, id: 2n ** 63n })).toEqual(said(40022, 'fix the plant'));
    stored.set(pine.id, 'deleted');
    expect(await create(pine)).toEqual(said(40010, 'give it another id'));
  });

  test('says how to use it when its arguments are wrong, and sends nothing', async () => {
    for (const wrong of wrongArgs) {
      const outcome = await runWith(wrong, { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN });
      expect([wrong, outcome]).toEqual([wrong, saidUsage]);
    }
    expect(stored.size).toBe(0);
  });

  test('says in one line that there is no token, or one that no header can carry', async () => {
    expect(await runWith(args(pine), { PLANT_STORE_URL: server.url })).toEqual(saidToken);
    expect(await create(pine, { token: '' })).toEqual(saidToken);
    expect(await create(pine, { token: `${TOKEN}\r\nX-Request-Id: 1` })).toEqual(saidToken);
  });

  test('says that the token is refused', async () => {
    expect(await create(pine, { token: 'another-token-than-that' })).toEqual(said(40101, 'get a token'));
  });

  test('says in one line that the service is down', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `http://${host}:${await freePort()}`;
      expect(await create(pine, { url })).toEqual(saidUnreachable(url));
    }
  });

  test.each(otherResponses)('says in one line that %s has responded', async (...other) => {
    await withResponse(other, async (url) => expect(await create(pine, { url })).toEqual(saidNotPlantStore(url)));
  });

  test('says that there is nothing at the address', async () => {
    const url = `${server.url}/v1`;
    const { code, stdout, stderr } = await create(pine, { url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // The types of the TypeScript client know only the errors of an operation.
    expect(stderr).toMatch(language === 'TypeScript' ? `${url} does not respond as Plant Store does` : /^40400: /);
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

describe('the script that runs the TypeScript client', () => {
  const script = (env: Record<string, string>) =>
    run('npm', ['run', '--silent', 'create-plant', '-w', 'examples/client', '--', ...args(pine)], env, projectFile(''));

  test('creates a plant', async () => {
    const server = await startApiServer();
    try {
      const { code, stdout } = await script({ PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN });
      expect([code, JSON.parse(stdout)]).toEqual([0, { name: pine.name, tag: pine.tag }]);
    } finally {
      await server.close(0);
    }
  });

  test('says in one line that Node.js is too old', async () => {
    const old = join(await temporaryFolder(), 'old.cjs');
    await writeFile(old, `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });`);
    const { code, stdout, stderr } = await script({ NODE_OPTIONS: `--require ${old}` });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Plant Store needs Node\.js 24 or newer; .*\n$/);
  });
});
