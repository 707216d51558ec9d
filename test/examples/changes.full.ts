import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { Ports } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
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
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import { projectFile, run } from '../support/service-process.ts';

/* The programs in examples that change and delete a plant, run against the service. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };
const renamed: NewPlant = { ...pine, name: '\uFEFF-Pinus\n' };

/** The fields that differ from the pine. */
const args = ({ name, tag }: NewPlant) => [
  ...(name === pine.name ? [] : [`--name=${name}`]),
  ...(tag === pine.tag ? [] : [tag === undefined ? '--no-tag' : `--tag=${tag}`]),
];
const wrongArgs = [
  [],
  ['1'],
  ['one', '--delete'],
  ['', '--delete'],
  ['1.5', '--delete'],
  ['1', '--delete', '--name=Pinus'],
  ['1', '--tag=conifer', '--no-tag'],
  ['1', '--nme=Pinus'],
  ['1', '2', '--delete'],
  ['1', '--delete', '--no-tag'],
  ['1', '--name'],
];
const clients = [
  { language: 'TypeScript', program: process.execPath, file: 'client/change-plant.ts' },
  { language: 'Python', program: 'python3', file: 'change-plant.py' },
  { language: 'curl', program: 'sh', file: 'change-plant.sh' },
];

describe.each(clients)('the client in $language', ({ program, file }) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let plants: Ports;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map([[pine.id, pine]]);
    plants = fakePlants(stored);
    server = await startApiServer({
      plants: {
        find: (id) => plants.find(id),
        replace: (plant, expected) => plants.replace(plant, expected),
        remove: (id, expected) => plants.remove(id, expected),
      },
    });
  });
  afterEach(() => server.close(0));

  const runWith = (args: readonly string[], { url = server.url, token = TOKEN } = {}) =>
    runExample({ program, file }, args, { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token });

  const change = (plant: NewPlant, where = {}) => runWith([`${plant.id}`, ...args(plant)], where);

  const remove = (id = pine.id) => runWith([`${id}`, '--delete']);

  /** Prints JSON, in any spelling. */
  function expectPrinted(outcome: { code: number | null; stdout: string; stderr: string }, plant: NewPlant): void {
    expect({ ...outcome, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(outcome.stdout).toMatch(/^.+\n$/);
    expect(outcome.stdout).toContain(`${plant.id}`);
    expect(JSON.parse(outcome.stdout)).toEqual(JSON.parse(linesOf([plant])));
  }

  /** What somebody else does between the first read and what follows it. */
  function meanwhile(work: () => Promise<unknown>): void {
    const real = plants;
    plants = {
      ...real,
      async find(id) {
        const found = await real.find(id);
        plants = real;
        await work();
        return found;
      },
    };
  }

  test('changes the name, the tag or both, and may do so again', async () => {
    for (const plant of [renamed, renamed, { ...pine, tag: '' }, { id: pine.id, name: '' }]) {
      if (plant !== renamed) stored.set(pine.id, pine);
      expectPrinted(await change(plant), plant);
      expect(stored.get(pine.id)).toEqual(plant);
    }
  });

  test('deletes it, and prints what it was', async () => {
    expectPrinted(await remove(), pine);
    expect(stored.get(pine.id)).toBe('deleted');
    expect(await remove()).toEqual(said(41000, 'check the id'));
  });

  test('says that no plant has the id, or that none can', async () => {
    expect(await change({ ...renamed, id: 5n })).toEqual(said(40401, 'check the id'));
    expect(await remove(2n ** 63n)).toEqual(said(40022, 'fix the id or the plant'));
  });

  test('does not lose what somebody else has changed meanwhile', async () => {
    const others: NewPlant = { ...pine, tag: 'somebody else' };
    meanwhile(() => plants.replace(others));
    const { code, stdout, stderr } = await change(renamed);
    expect(stderr).toBe('somebody else has changed it meanwhile: trying again with what it is now\n');
    expectPrinted({ code, stdout, stderr: '' }, { ...renamed, tag: 'somebody else' });
    expect(stored.get(pine.id)).toEqual({ ...renamed, tag: 'somebody else' });
  });

  test('keeps what is not to be changed, with any letters in it', async () => {
    const odd = { id: pine.id, name: '"}\\,"tag":"\n', tag: '\\"}{\u0001"name":"' };
    stored.set(pine.id, odd);
    expectPrinted(await runWith([`${pine.id}`, '--tag=a "b" \\'], {}), { ...odd, tag: 'a "b" \\' });
    stored.set(pine.id, odd);
    expectPrinted(await runWith([`${pine.id}`, '--name='], {}), { ...odd, name: '' });
    stored.set(pine.id, odd);
    expectPrinted(await runWith([`${pine.id}`, '--no-tag'], {}), { id: pine.id, name: odd.name });
  });

  test('gives up when somebody else changes it each time', async () => {
    const real = plants;
    let times = 0;
    plants = {
      ...real,
      async find(id) {
        const found = await real.find(id);
        await real.replace({ ...pine, tag: `${times++}` });
        return found;
      },
    };
    const { code, stdout, stderr } = await change(renamed);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^(somebody else .*\n){4}41200: .*\(do it again; request .*\)\n$/);
  });

  test('does not delete what somebody else has changed meanwhile, unseen', async () => {
    const others: NewPlant = { ...pine, tag: 'somebody else' };
    meanwhile(() => plants.replace(others));
    const { code, stdout, stderr } = await remove();
    expect(stderr).toMatch(/^somebody else has changed it meanwhile.*\n$/);
    expectPrinted({ code, stdout, stderr: '' }, others);
  });

  test('says that somebody else has deleted it meanwhile', async () => {
    meanwhile(() => plants.remove(pine.id));
    expect(await change(renamed)).toEqual(said(41000, 'check the id'));
  });

  test.each([
    ['PUT', args(renamed), renamed],
    ['DELETE', ['--delete'], pine],
  ])('sends a %s again whose response was lost', async (method, change, plant) => {
    const network = await startTcpProxy(server.url);
    try {
      const lost = network.cutNext(`${method} /plants/`, 'answer');
      expectPrinted(await runWith([`${pine.id}`, ...change], { url: new URL(network.url).origin }), plant);
      await lost;
    } finally {
      await network.close();
    }
  });

  test('tries again when the store was unavailable for a moment', async () => {
    const real = plants;
    plants = {
      ...real,
      async replace() {
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    expectPrinted(await change(renamed), renamed);
  });

  test('says how to use it when its arguments are wrong, and sends nothing', async () => {
    for (const wrong of wrongArgs) expect([wrong, await runWith(wrong)]).toEqual([wrong, saidUsage]);
    expect(stored.get(pine.id)).toBe(pine);
  });

  test('says in one line that there is no token, that it is refused, or that the service is down', async () => {
    expect(await change(renamed, { token: '' })).toEqual(saidToken);
    expect(await change(renamed, { token: 'another-token-than-that' })).toEqual(said(40101, 'get a token'));
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await change(renamed, { url })).toEqual(saidUnreachable(url));
  });

  test.each(otherResponses)('says in one line that %s has responded', async (...other) => {
    await withResponse(other, async (url) => expect(await change(renamed, { url })).toEqual(saidNotPlantStore(url)));
  });

  test('asks to report a defect of the service', async () => {
    plants = { ...plants, replace: () => Promise.reject(new Error('a defect')) };
    expect(await change(renamed)).toEqual(said(50000, 'report it'));
  });
});

test('the script of the TypeScript client changes a plant', async () => {
  const stored = new Map<bigint, NewPlant | 'deleted'>([[pine.id, pine]]);
  const server = await startApiServer({ plants: fakePlants(stored) });
  try {
    const env = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN };
    const command = ['run', '--silent', 'change-plant', '-w', 'examples/client', '--', `${pine.id}`, ...args(renamed)];
    expect(await run('npm', command, env, projectFile(''))).toMatchObject({ code: 0, stderr: '' });
    expect(stored.get(pine.id)).toEqual(renamed);
  } finally {
    await server.close(0);
  }
});
