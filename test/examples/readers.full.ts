import type { RequestListener } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { Ports } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { startApiServer } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { plantsOf } from '../support/plants/plant-lines.ts';
import {
  addressed,
  inEachLanguage,
  printed,
  runExample,
  said,
  startHttp,
} from '../support/programs/example-programs.ts';
import { type Outcome, projectFile, run } from '../support/service-process.ts';

/* The programs that read plants, run against the service. all-programs.full.ts has what all do. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"\n', tag: 'Nadelbäume' };
const others: [NewPlant, NewPlant] = [
  { id: -(2n ** 63n), name: '' },
  { id: 2n ** 53n + 1n, name: 'Rosa', tag: '' },
];

function expectPrinted(outcome: Outcome, plants: readonly NewPlant[]): void {
  expect(outcome).toEqual(printed(expect.stringMatching(/^(.+\n)*$/)));
  expect(plantsOf(outcome.stdout.slice(0, -1))).toEqual(plants);
}

describe.each(inEachLanguage('read-plants'))('the reader in $language', (example) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let plants: Ports;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map();
    plants = fakePlants(stored);
    const readBatch: Ports['readBatch'] = (range, count) => plants.readBatch(range, count);
    server = await startApiServer({ plants: { ...plants, readBatch } });
  });

  const read = (args: readonly unknown[] = [], url = server.url) => runExample(example, args, url);

  function store(...all: readonly NewPlant[]): void {
    for (const plant of all) stored.set(plant.id, plant);
  }

  /** Passes requests on to the service; fetch makes the names of headers lower case, as HTTP/2 has them. */
  const proxy: RequestListener = async ({ url, headers: { authorization = '', accept = '*/*' } }, response) => {
    const { status, headers, body } = await fetch(`${server.url}${url}`, { headers: { authorization, accept } });
    response.writeHead(status, Object.fromEntries(headers));
    for await (const chunk of body ?? []) response.write(chunk);
    response.end();
  };

  test('prints a plant, its id exact', async () => {
    store(pine, ...others);
    for (const plant of [pine, ...others]) expectPrinted(await read([plant.id]), [plant]);
  });

  test('prints all plants of many pages, each once and their ids exact, also by links whose header is in lower case', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({ id: BigInt(n) - 1_000n, name: `${n}` }));
    store(...many, pine, ...others);
    const [least, rose] = others;
    const all = [least, ...many, rose, pine];
    expectPrinted(await read(), all);
    expectPrinted(await read([], await startHttp(proxy)), all);
  });

  test('prints the plants with a text in their names, of all pages', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({
      id: BigInt(n),
      name: n % 2 === 0 ? `100% Ö&+ ${n}` : 'other',
    }));
    store(...many, ...others);
    expectPrinted(
      await read(['--name=% \u00F6&+']),
      many.filter((_, n) => n % 2 === 0),
    );
    expectPrinted(await read(['--name=none']), []);
    expect(await read([`--name=${'x'.repeat(101)}`])).toEqual(said(40022, 'check the id or the text'));
  });

  test('prints nothing if there is no plant', async () => {
    expect(await read()).toEqual(printed(''));
  });

  test('says that no plant has the id, or that none can', async () => {
    stored.set(6n, 'deleted');
    expect(await read([6])).toEqual(said(41000, 'check the id'));
    expect(await read([5])).toEqual(said(40401, 'check the id'));
    expect(await read([2n ** 63n])).toEqual(said(40022, 'check the id or the text'));
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
    expectPrinted(await read(), large);
    expect(plants).toBe(real);
  });

  test('asks again when the connection was lost before the response', async () => {
    store(pine);
    let requests = 0;
    const unsteady: RequestListener = (request, response) => {
      if (++requests < 3) request.socket.destroy();
      else proxy(request, response);
    };
    expectPrinted(await read([], await startHttp(unsteady)), [pine]);
    expect(requests).toBe(3);
  });

  test('says in one line that its output cannot be written', async () => {
    store(pine);
    const command = `${example.program} ${projectFile(`examples/${example.file}`)} > /dev/full`;
    const { code, stderr } = await run('sh', ['-c', command], addressed(server.url));
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^.*ENOSPC.*\n$|^.*[Nn]o space left.*\n$|^.*[Ff]ail.* writ.*\n$/);
  });
});
