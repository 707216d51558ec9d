import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/server.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { plantsOf } from '../support/plants/plant-lines.ts';
import type { UncheckedPlants } from '../support/plants/unchecked-plants.ts';
import { addressed, clients, python, runClient, startClient } from '../support/programs/example-programs.ts';
import { listening } from '../support/servers/local-server.ts';
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import { type Outcome, projectFile, run, startNode, temporaryFolder } from '../support/service-process.ts';

/* The three clients in examples, run against the service. mirror.full.ts and webhooks.full.ts have what Python's keeps. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };
const least: NewPlant = { id: -(2n ** 63n), name: '' };
const odd: NewPlant = { id: 0n, name: '\uFEFF\t\\"\\u0041\u0001\u007f"}\\,"tag":"\n\n', tag: "$(id) '%s' 🌲\\\"}{" };

let stored: Map<bigint, NewPlant | 'deleted'>;
/** Of the service; a test may replace some. */
let plants: UncheckedPlants;
/** What they fail with first, one operation after another. */
let failures: Error[];
let server: HttpServer;
let folder: string;
beforeEach(async () => {
  stored = new Map();
  plants = fakePlants(stored);
  failures = [];
  const current = new Proxy(plants, {
    get:
      (_, name) =>
      (...args: unknown[]) =>
        failures.length > 0 ? Promise.reject(failures.shift()) : Reflect.get(plants, name)(...args),
  });
  server = await startApiServer({ plants: current });
  folder = await temporaryFolder();
});

const store = (...all: readonly NewPlant[]) => {
  for (const plant of all) stored.set(plant.id, plant);
};

/** Lines of JSON, in any spelling. */
function expectPrinted(outcome: Outcome, all: readonly NewPlant[], stderr = ''): void {
  expect(outcome).toEqual({ code: 0, stdout: expect.stringMatching(/^(.+\n)*$/), stderr });
  expect(plantsOf(outcome.stdout.slice(0, -1))).toEqual(all);
}

async function fileOf(name: string, content: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

/** How it ends if all is well. */
const printed = (stdout: unknown) => ({ code: 0, stdout, stderr: '' });

/** How it ends if the service reports an error. */
const said = (error: number, remedy: string) => failed(`^${error}: \\S.* \\(${remedy}; request [\\w-]{36}\\)\\n$`);

const saidUnreachable = (url: string) => failed(`^cannot reach ${url} \\(.+\\): is the service running there\\?\n$`);

const saidNotPlantStore = (url: string) =>
  failed(`^${url} does not respond as Plant Store does: is that its address\\?\n$`);

const saidToken = failed(/^PLANT_STORE_TOKEN must be .*\n$/);

const saidUsage = failed(/^usage: /, 2);

function failed(line: string | RegExp, code = 1) {
  return { code, stdout: '', stderr: expect.stringMatching(line) };
}

/** What is not the service may send: a proxy in front of one that is down, another service, a web site, or nothing. */
const otherResponses: [status: number, type: string, body: string][] = [
  [502, 'text/html', '<html>\n<h1>502 Bad Gateway</h1>\n</html>\n'],
  [404, 'application/json', '{"error":"not found","message":"it is not here"}'],
  [200, 'text/html', '<html>\n<h1>Welcome</h1>\n</html>\n'],
  [502, 'application/json', ''],
];

/** Serves HTTP until the end of the test. @returns its URL */
const startHttp = async (listener: RequestListener) => `http://127.0.0.1:${await listening(createServer(listener))}`;

describe.each(clients)('the client in $language', (client) => {
  const runWith = (args: readonly unknown[], url = server.url) => runClient(client, args, url);

  test('creates plants, their ids and letters exact, and may do so again', async () => {
    for (const { id, ...content } of [pine, pine, odd, least]) {
      const { name, tag } = content as NewPlant;
      const outcome = await runWith(['create', id, name, ...(tag === undefined ? [] : [tag])]);
      expect(outcome).toEqual(printed(expect.any(String)));
      expect(JSON.parse(outcome.stdout)).toEqual(content);
    }
    expect([...stored.values()]).toEqual([pine, odd, least]);
    expect(await runWith(['create', pine.id, 'Pinus'])).toEqual(said(40009, 'give it another id'));
    expect(await runWith(['create', 2n ** 63n, 'Pinus'])).toEqual(said(40022, 'fix what it names'));
  });

  test('prints a plant, its id exact, or says that there is none', async () => {
    store(pine, odd, least);
    stored.set(6n, 'deleted');
    for (const plant of [pine, odd, least]) expectPrinted(await runWith(['read', plant.id]), [plant]);
    expect(await runWith(['read', 5])).toEqual(said(40401, 'check the id'));
    expect(await runWith(['read', 6])).toEqual(said(41000, 'check the id'));
  });

  test('prints all plants of many pages, each once, or those with a text', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({ id: BigInt(n) + 1n, name: n % 2 ? 'other' : `Ö%&+${n}` }));
    store(least, odd, ...many, pine);
    expectPrinted(await runWith(['read']), [least, odd, ...many, pine]);
    const named = many.filter((_, n) => n % 2 === 0);
    expectPrinted(await runWith(['read', '--name=\u00F6%&+']), named);
  });

  test('reads a page again that was broken off, and prints each plant once', async () => {
    const many = Array.from({ length: 1_500 }, (_, n) => ({ id: BigInt(n), name: 'Rosa' }));
    store(...many);
    const real = plants;
    plants = {
      ...real,
      async list(range, count) {
        if (range.from < 0n) return real.list(range, count);
        plants = real;
        throw new PlantStoreError('store_unavailable', 'not now');
      },
    };
    expectPrinted(await runWith(['read']), many);
    expect(plants).toBe(real);
  });

  test('changes the name, the tag or both, and may do so again', async () => {
    const change = (plant: NewPlant, ...options: string[]) => runWith(['change', plant.id, ...options]);
    store(pine, odd);
    const renamed = { ...pine, name: '\uFEFF-Pinus\n' };
    for (let time = 0; time < 2; time++) expectPrinted(await change(pine, `--name=${renamed.name}`), [renamed]);
    expectPrinted(await change(pine, '--name=', '--tag='), [{ ...pine, name: '', tag: '' }]);
    // It keeps what is not to be changed, with any letters in it.
    expectPrinted(await change(odd, '--tag=a "b" \\'), [{ ...odd, tag: 'a "b" \\' }]);
    expectPrinted(await change(odd, '--no-tag'), [{ id: odd.id, name: odd.name }]);
    expect(stored.get(odd.id)).toEqual({ id: odd.id, name: odd.name });
  });

  test('does not lose what somebody else has changed meanwhile', async () => {
    store(pine);
    const real = plants;
    const tag = 'somebody else';
    plants = {
      ...real,
      async find(id) {
        plants = real;
        const found = await real.find(id);
        await real.replace({ ...pine, tag });
        return found;
      },
    };
    const stderr = 'somebody else has changed it meanwhile: trying again with what it is now\n';
    expectPrinted(await runWith(['change', pine.id, '--name=Pinus']), [{ ...pine, name: 'Pinus', tag }], stderr);
    expect(stored.get(pine.id)).toEqual({ ...pine, name: 'Pinus', tag });
  });

  test('deletes a plant, prints it, and repeats a request whose response was lost', async () => {
    for (const [method, args, plant] of [
      ['PUT', ['change', pine.id, '--name=Abies'], { ...pine, name: 'Abies' }],
      ['DELETE', ['delete', pine.id], pine],
    ] as const) {
      store(pine);
      const network = await startTcpProxy(server.url);
      const lost = network.cutNext(`${method} /plants/`, 'answer');
      expectPrinted(await runWith(args, new URL(network.url).origin), [plant]);
      await lost;
    }
    expect(stored.get(pine.id)).toBe('deleted');
    expect(await runWith(['delete', pine.id])).toEqual(said(41000, 'check the id'));
  });

  test('says how to use it when its arguments are wrong, and does nothing', async () => {
    const wrong = [
      ...[
        '',
        'create 1',
        'create one Pinus',
        'create 1.5 Pinus',
        'create 1 Pinus conifer more',
        'read one',
        'read 1 2',
      ],
      ...['read --nme=rosa', 'read --name=rosa 1', 'change 1', 'change 1 --nme=Pinus', 'change one --no-tag'],
      ...['change 1 --tag=conifer --no-tag', 'delete', 'delete 1 2', 'import list.txt', 'follow one two', 'plant'],
    ];
    for (const line of wrong) {
      const args = line === '' ? [] : line.split(' ');
      expect([line, await runWith(args)]).toEqual([line, saidUsage]);
    }
    expect(stored.size).toBe(0);
  });
});

const CSV = '\uFEFFname;id\r\n"Pinus\nlongaeva";9223372036854775807\r\nRosa;7\r\n';
const NDJSON = '{"id":9223372036854775807,"name":"Pinus\\nlongaeva"}\n{"id":7,"name":"Rosa"}';

test.each([
  ['list.csv', CSV, 4],
  ['list.ndjson', NDJSON, 2],
])('all import %s, and say what was refused', async (name, content, line) => {
  store({ id: 7n, name: 'Abies' });
  const file = await fileOf(name, content);
  for (const client of clients) {
    stored.delete(pine.id);
    const shown = await runClient(client, ['import', file], server.url);
    const start = `{"created":1,"changed":0,"unchanged":0,"refused":[{"line":${line},`;
    const stderr = client === python ? `line ${line}: id 7 belongs to a different plant\n` : '';
    const stdout = client === python ? '1 created, 0 unchanged, 1 refused\n' : expect.stringContaining(start);
    expect(shown).toEqual({ code: 2, stdout, stderr });
    expect(stored.get(pine.id)).toMatchObject({ name: 'Pinus\nlongaeva' });
  }
});

test.each(clients.filter((client) => client !== python))('the one in $language follows the changes', async (client) => {
  const follow = (...position: string[]) => startClient(client, ['follow', ...position], server.url);
  await plants.add(pine);
  await plants.add(odd);
  await plants.remove(odd.id);
  const first = follow();
  await first.until(() => first.stdout().includes('deleted'));
  expect(first.stdout()).toContain(`"id":${pine.id},`);
  await plants.add(least);
  await first.until(() => first.stdout().includes(`${least.id}`));
  const [, position = ''] = /"next":"(\w+)"/.exec(first.stdout()) ?? [];
  const second = follow(position);
  await second.until(() => second.stdout().includes('\n'));
  expect(JSON.parse(second.stdout()).changes).toHaveLength(1);
});

describe.each(clients)('when something is wrong, the client in $language says so in one line:', (client) => {
  const read = (...service: Parameters<typeof addressed>) => runClient(client, ['read'], ...service);

  test('no token, one that is refused or impossible, or nothing at the address', async () => {
    for (const token of [null, '', `${TOKEN}\r\nX-Request-Id: 1`]) {
      expect(await read(server.url, token)).toEqual(saidToken);
    }
    expect(await read(server.url, 'another-token-than-that')).toEqual(said(40101, 'get a token'));
    expect(await read(`${server.url}/v1`)).toEqual(said(40400, '.*'));
  });

  test('a defect of the service, another server, or none', async () => {
    // More often than curl tries.
    failures = Array.from({ length: 20 }, () => new Error('a defect'));
    expect(await read(server.url)).toEqual(said(50000, 'report it'));
    for (const [status, type, body] of otherResponses) {
      const url = await startHttp((request, response) => {
        request.resume();
        response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
      });
      expect([body, await read(url)]).toEqual([body, saidNotPlantStore(url)]);
    }
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await read(nowhere)).toEqual(saidUnreachable(nowhere));
  });

  test('nothing if the store was unavailable for a moment: it tries again', async () => {
    store(least);
    const list = await fileOf('list.csv', 'id,name\n1,Pinus\n');
    for (const args of [['create', 1, 'Pinus'], ['read'], ['change', least.id, '--name='], ['import', list]]) {
      failures = [new PlantStoreError('store_unavailable', 'not now')];
      const outcome = await runClient(client, args, server.url);
      expect([args, outcome, failures]).toMatchObject([args, { code: 0, stderr: '' }, []]);
    }
  });
});

test('the script that runs the TypeScript client creates a plant', async () => {
  const args = ['run', '--silent', 'plants', '-w', 'examples/client', 'create', '1', 'Abies'];
  expect(await run('npm', args, addressed(server.url), projectFile(''))).toEqual(printed('{"name":"Abies"}\n'));
});

test('the types of the one in TypeScript are made of the document, and fit their use', async () => {
  const [document, made] = [projectFile('test/golden/openapi.json'), join(folder, 'plant-store.ts')];
  const generate = startNode([projectFile('examples/client/generate.ts'), document, made], projectFile(''));
  expect(await generate.outcome()).toEqual(printed(''));
  // If not: npm run generate -w examples/client -- ../../test/golden/openapi.json
  expect(await readFile(projectFile('examples/client/plant-store.ts'), 'utf8')).toBe(await readFile(made, 'utf8'));
  expect(await run('npm', ['run', '--silent', 'check', '-w', 'examples/client'], {}, projectFile(''))).toEqual(
    printed(''),
  );
});
