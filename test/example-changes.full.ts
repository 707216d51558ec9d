import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../src/adapters/http/sockets/server.ts';
import type { Ports } from '../src/application/use-cases.ts';
import { PlantStoreError } from '../src/domain/errors.ts';
import type { NewPlant } from '../src/domain/plant.ts';
import { startApiServer, TOKEN } from './support/api-server.ts';
import {
  otherResponses,
  runExample,
  said,
  saidNotPlantStore,
  saidToken,
  saidUnreachable,
  saidUsage,
  withResponse,
} from './support/example-programs.ts';
import { fakePlants } from './support/fake-plants.ts';
import { freePort } from './support/free-port.ts';
import { linesOf } from './support/plant-lines.ts';
import { run } from './support/run-program.ts';
import { projectFile } from './support/service-process.ts';
import { startTcpProxy } from './support/tcp-proxy.ts';

/* The programs in examples that change and delete a plant, run against the service. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };
const renamed: NewPlant = { ...pine, name: '\uFEFF-Pinus\n' };

/** In JSON, or as the fields that differ from the pine. */
const asJson = ({ id: _, ...plant }: NewPlant) => [JSON.stringify(plant)];
const asOptions = ({ name, tag }: NewPlant) => [
  ...(name === pine.name ? [] : [`--name=${name}`]),
  ...(tag === pine.tag ? [] : [tag === undefined ? '--no-tag' : `--tag=${tag}`]),
];
const wrongOptions = [
  [],
  ['1'],
  ['one', '--delete'],
  ['', '--delete'],
  ['1.5', '--delete'],
  ['1', '--delete', '--name=Pinus'],
  ['1', '--tag=conifer', '--no-tag'],
  ['1', '--nme=Pinus'],
  ['1', '2', '--delete'],
];
const wrongJson = [
  [],
  ['1'],
  ['one', '{}'],
  ['', '{}'],
  ['1.5', '{}'],
  ['1', ''],
  ['1', '{}', '--delete'],
  ['1', '--help'],
];

const clients = [
  {
    language: 'TypeScript',
    program: process.execPath,
    file: 'client/change-plant.ts',
    args: asOptions,
    wrongArgs: wrongOptions,
  },
  { language: 'Python', program: 'python3', file: 'change-plant.py', args: asOptions, wrongArgs: wrongOptions },
  { language: 'curl', program: 'sh', file: 'change-plant.sh', args: asJson, wrongArgs: wrongJson },
];

describe.each(clients)('the client in $language', ({ language, program, file, args, wrongArgs }) => {
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
    runExample({ program, file }, args, { PLANT_STORE_URL: url, ACCESS_TOKEN: token });

  const change = (plant: NewPlant, where = {}) => runWith([`${plant.id}`, ...args(plant)], where);

  const remove = (id = pine.id) => runWith([`${id}`, '--delete']);

  /** Prints JSON, in any spelling. */
  function expectPrinted(outcome: { code: number; stdout: string; stderr: string }, plant: NewPlant): void {
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
    if (language === 'curl') {
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `somebody else has changed it meanwhile, to ${linesOf([others])}: if you still want to, do it again\n`,
      );
      expect(stored.get(pine.id)).toEqual(others);
    } else {
      expect(stderr).toBe('somebody else has changed it meanwhile: trying again with what it is now\n');
      expectPrinted({ code, stdout, stderr: '' }, { ...renamed, tag: 'somebody else' });
      expect(stored.get(pine.id)).toEqual({ ...renamed, tag: 'somebody else' });
    }
  });

  test('does not delete what somebody else has changed meanwhile, unseen', async () => {
    const others: NewPlant = { ...pine, tag: 'somebody else' };
    meanwhile(() => plants.replace(others));
    const { code, stdout, stderr } = await remove();
    expect(stderr).toMatch(/^somebody else has changed it meanwhile.*\n$/);
    if (language === 'curl') expect([code, stdout, stored.get(pine.id)]).toEqual([1, '', others]);
    else expectPrinted({ code, stdout, stderr: '' }, others);
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
    const env = { PLANT_STORE_URL: server.url, ACCESS_TOKEN: TOKEN };
    const args = [
      'run',
      '--silent',
      'change-plant',
      '-w',
      'examples/client',
      '--',
      `${pine.id}`,
      ...asOptions(renamed),
    ];
    expect(await run('npm', args, env, projectFile(''))).toMatchObject({ code: 0, stderr: '' });
    expect(stored.get(pine.id)).toEqual(renamed);
  } finally {
    await server.close(0);
  }
});
