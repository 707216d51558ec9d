import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { Ports } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { plantsOf } from '../support/plants/plant-lines.ts';
import {
  otherResponses,
  runExample,
  said,
  saidNotPlantStore,
  saidToken,
  saidUnreachable,
  saidUsage,
  withResponse,
  withServer,
} from '../support/programs/example-programs.ts';
import { projectFile, run } from '../support/service-process.ts';

/* The programs in examples that read plants, run against the service. */

const readers = [
  { language: 'TypeScript', program: process.execPath, file: 'client/read-plants.ts' },
  { language: 'Python', program: 'python3', file: 'read-plants.py' },
  { language: 'curl', program: 'sh', file: 'read-plants.sh' },
];

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"\n', tag: 'Nadelbäume' };
const others: NewPlant[] = [
  { id: -(2n ** 63n), name: '' },
  { id: 2n ** 53n + 1n, name: 'Rosa', tag: '' },
];

function plantsIn(lines: string): NewPlant[] {
  expect(lines).toMatch(/^(.+\n)*$/);
  return plantsOf(lines.slice(0, -1));
}

describe.each(readers)('the reader in $language', ({ language, program, file }) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let plants: Ports;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map();
    plants = fakePlants(stored);
    server = await startApiServer({
      plants: {
        find: (id) => plants.find(id),
        readBatch: (range, count) => plants.readBatch(range, count),
      },
    });
  });
  afterEach(() => server.close(0));

  const runWith = (args: readonly unknown[], env: Record<string, string>) =>
    runExample({ program, file }, args.map(String), env);

  const read = (args: readonly unknown[] = [], { url = server.url, token = TOKEN } = {}) =>
    runWith(args, { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token });

  function store(...all: readonly NewPlant[]): void {
    for (const plant of all) stored.set(plant.id, plant);
  }

  /** Passes requests on to the service; fetch makes the names of headers lower case. */
  const proxy: RequestListener = async ({ url, headers: { authorization = '', accept = '*/*' } }, response) => {
    const { status, headers, body } = await fetch(`${server.url}${url}`, { headers: { authorization, accept } });
    response.writeHead(status, Object.fromEntries(headers));
    for await (const chunk of body ?? []) response.write(chunk);
    response.end();
  };

  test('prints a plant, its id exact', async () => {
    store(pine, ...others);
    for (const plant of [pine, ...others]) {
      const { code, stdout, stderr } = await read([plant.id]);
      expect([code, stderr]).toEqual([0, '']);
      expect(plantsIn(stdout)).toEqual([plant]);
    }
  });

  test('prints all plants of many pages, each once and their ids exact', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({ id: BigInt(n) - 1_000n, name: `${n}` }));
    store(...many, pine, ...others);
    const { code, stdout, stderr } = await read();
    expect([code, stderr]).toEqual([0, '']);
    const [least, rose] = others;
    expect(plantsIn(stdout)).toEqual([least, ...many, rose, pine]);
  });

  test('prints nothing if there is no plant', async () => {
    expect(await read()).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('says that no plant has the id, or that none can', async () => {
    stored.set(6n, 'deleted');
    expect(await read([6])).toEqual(said(41000, 'check the id'));
    expect(await read([5])).toEqual(said(40401, 'check the id'));
    expect(await read([2n ** 63n])).toEqual(said(40022, 'check the id'));
  });

  test('says how to use it when its arguments are wrong', async () => {
    for (const wrong of [['one'], ['1', '2'], ['1.5'], ['']]) {
      const outcome = await read(wrong);
      expect([wrong, outcome]).toEqual([wrong, saidUsage]);
    }
  });

  test('says in one line that there is no token, or one that no header can carry', async () => {
    expect(await runWith([], { PLANT_STORE_URL: server.url })).toEqual(saidToken);
    expect(await read([], { token: `${TOKEN}\r\nX-Request-Id: 1` })).toEqual(saidToken);
  });

  test('says that the token is refused', async () => {
    expect(await read([], { token: 'another-token-than-that' })).toEqual(said(40101, 'get a token'));
  });

  test('says in one line that the service is down', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await read([], { url })).toEqual(saidUnreachable(url));
  });

  test.each(otherResponses)('says in one line that %s has responded', async (...other) => {
    await withResponse(other, async (url) => expect(await read([], { url })).toEqual(saidNotPlantStore(url)));
  });

  test('says that there is nothing at the address', async () => {
    const url = `${server.url}/v1`;
    const { code, stdout, stderr } = await read([], { url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // The types of the TypeScript client know only the errors of an operation.
    expect(stderr).toMatch(language === 'TypeScript' ? `${url} does not respond as Plant Store does` : /^40400: /);
  });

  test('follows a link whose header is in lower case, as HTTP/2 has it', async () => {
    const many = Array.from({ length: 1_001 }, (_, n) => ({ id: BigInt(n), name: `${n}` }));
    store(...many);
    await withServer(proxy, async (url) => {
      const { stdout, stderr } = await read([], { url });
      expect(stderr).toBe('');
      expect(plantsIn(stdout)).toEqual(many);
    });
  });

  test('reads again when the store was unavailable for a moment', async () => {
    store(pine);
    const real = plants;
    plants = {
      ...real,
      async find() {
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    expect(await read([pine.id])).toMatchObject({ code: 0, stderr: '' });
  });

  test('reads a page again that was broken off, and prints each plant once', async () => {
    // So much text that the page is a stream.
    const large = [1n, 2n, 3n].map((id) => ({ id, name: 'x'.repeat(1_100_000) }));
    store(...large);
    const real = plants;
    plants = {
      ...real,
      async readBatch(range, count) {
        if (range.from <= 1n) return real.readBatch(range, count);
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    const { code, stdout, stderr } = await read();
    expect(plants).toBe(real);
    expect([code, stderr]).toEqual([0, '']);
    expect(plantsIn(stdout)).toEqual(large);
  });

  test('asks again when the connection was lost before the response', async () => {
    store(pine);
    let requests = 0;
    const unsteady: RequestListener = (request, response) => {
      if (++requests < 3) request.socket.destroy();
      else proxy(request, response);
    };
    await withServer(unsteady, async (url) => {
      const { code, stdout, stderr } = await read([], { url });
      expect([code, stderr, requests]).toEqual([0, '', 3]);
      expect(plantsIn(stdout)).toEqual([pine]);
    });
  });

  test('says in one line that its output cannot be written', async () => {
    store(pine);
    const env = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN };
    const { code, stderr } = await run('sh', ['-c', `${program} ${projectFile(`examples/${file}`)} > /dev/full`], env);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^.*ENOSPC.*\n$|^.*[Nn]o space left.*\n$|^.*[Ff]ail.* writ.*\n$/);
  });

  test('asks to report a defect of the service', async () => {
    plants = { ...plants, readBatch: () => Promise.reject(new Error('a defect')) };
    expect(await read()).toEqual(said(50000, 'report it'));
  });
});

test('the script of the TypeScript reader prints a plant', async () => {
  const server = await startApiServer({ plants: fakePlants(new Map([[pine.id, pine]])) });
  try {
    const env = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: TOKEN };
    const args = ['run', '--silent', 'read-plants', '-w', 'examples/client', '--', `${pine.id}`];
    const { code, stdout } = await run('npm', args, env, projectFile(''));
    expect([code, plantsIn(stdout)]).toEqual([0, [pine]]);
  } finally {
    await server.close(0);
  }
});
