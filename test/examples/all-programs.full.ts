import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import {
  addressed,
  type Example,
  inEachLanguage,
  otherResponses,
  runExample,
  said,
  saidNotPlantStore,
  saidToken,
  saidUnreachable,
  saidUsage,
  startOtherServer,
} from '../support/programs/example-programs.ts';
import { projectFile, run, temporaryFolder } from '../support/service-process.ts';

/* What all programs in examples do about trouble. What each of them is for is in the other files. */

interface Program {
  readonly example: Example;
  /** @param folder of the test, which is empty */
  readonly args: (folder: string) => readonly string[];
  readonly wrongArgs: readonly (readonly string[])[];
}

const programs: Program[] = [
  ...inEachLanguage('create-plant').map((example) => ({
    example,
    args: () => ['1', 'Pinus'],
    wrongArgs: [[], ['1'], ['one', 'Pinus'], ['', 'Pinus'], ['1.5', 'Pinus'], ['1', 'Pinus', 'conifer', 'more']],
  })),
  ...inEachLanguage('read-plants').map((example) => ({
    example,
    args: () => [],
    wrongArgs: [['one'], ['1', '2'], ['1.5'], [''], ['--nme=rosa'], ['--name=rosa', '1']],
  })),
  ...inEachLanguage('change-plant').map((example) => ({
    example,
    args: () => ['1', '--name=Pinus'],
    wrongArgs: [
      ...[[], ['1'], ['one', '--delete'], ['', '--delete'], ['1.5', '--delete'], ['1', '2', '--delete']],
      ...[
        ['1', '--name'],
        ['1', '--nme=Pinus'],
        ['1', '--tag=conifer', '--no-tag'],
      ],
      ...[
        ['1', '--delete', '--name=Pinus'],
        ['1', '--delete', '--no-tag'],
      ],
    ],
  })),
];
const importers: Program[] = [
  { language: 'Python', program: 'python3', file: 'import-plants.py' },
  { language: 'curl', program: 'sh', file: 'import-plants.sh' },
].map((example) => ({
  example,
  args: () => [list],
  wrongArgs: [[], [''], ['none.csv'], [projectFile('package.json')], [projectFile('examples/plants.ndjson'), 'more']],
}));
const mirror: Program = {
  example: { language: 'Python', program: 'python3', file: 'mirror.py' },
  args: (folder) => [join(folder, 'plants.sqlite')],
  wrongArgs: [[], [''], ['one', 'two'], ['--limit=5', 'one']],
};
const named = (all: readonly Program[]) => all.map((one) => [one.example.file, one] as const);

const fir: NewPlant = { id: 1n, name: 'Abies' };
let stored: Map<bigint, NewPlant | 'deleted'>;
/** What the store fails with, one operation after another. */
let failures: Error[];
let server: HttpServer;
let folder: string;
/** A file with a plant. */
let list: string;
beforeEach(async () => {
  stored = new Map();
  failures = [];
  const real = fakePlants(stored);
  const orFail =
    <Args extends unknown[], Result>(operation: (...args: Args) => Promise<Result>) =>
    (...args: Args) => {
      const failure = failures.shift();
      return failure === undefined ? operation(...args) : Promise.reject(failure);
    };
  const writes = { add: orFail(real.add), replace: orFail(real.replace) };
  const reads = { readBatch: orFail(real.readBatch), readChanges: orFail(real.readChanges) };
  server = await startApiServer({ plants: { ...real, ...writes, ...reads } });
  folder = await temporaryFolder();
  list = join(await temporaryFolder(), 'list.csv');
  await writeFile(list, 'id,name\n1,Pinus\n');
});

describe.each(named([...programs, ...importers, mirror]))('examples/%s', (_file, { example, args, wrongArgs }) => {
  const runWith = (...service: Parameters<typeof addressed>) => runExample(example, args(folder), ...service);

  test('says how to use it when its arguments are wrong, and does nothing', async () => {
    for (const wrong of wrongArgs) {
      expect([wrong, await runExample(example, wrong, server.url)]).toEqual([wrong, saidUsage]);
    }
    expect(stored.size).toBe(0);
  });

  test('says in one line that there is no token, or one that no header can carry', async () => {
    for (const token of [null, '', `${TOKEN}\r\nX-Request-Id: 1`]) {
      expect(await runWith(server.url, token)).toEqual(saidToken);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  test('says that the token is refused', async () => {
    expect(await runWith(server.url, 'another-token-than-that')).toEqual(said(40101, 'get a token'));
  });

  test('says that there is nothing at the address', async () => {
    const url = `${server.url}/v1`;
    // The types of the TypeScript client know only the errors of an operation.
    const isTyped = example.language === 'TypeScript';
    expect(await runWith(url)).toEqual(isTyped ? saidNotPlantStore(url) : said(40400, '.*'));
  });

  test('asks to report a defect of the service', async () => {
    stored.set(1n, fir);
    // More often than curl tries.
    failures = Array.from({ length: 20 }, () => new Error('a defect'));
    expect(await runWith(server.url)).toEqual(said(50000, 'report it'));
  });

  // The mirror waits for a proxy whose service is down.
  const wrong = otherResponses.filter(([, status]) => example.file !== 'mirror.py' || status < 500);
  test.each(wrong)('says in one line that %s has responded', async (...other) => {
    const url = await startOtherServer(other);
    expect(await runWith(url)).toEqual(saidNotPlantStore(url));
  });
});

describe.each(named([...programs, ...importers]))('examples/%s', (_file, { example, args }) => {
  test('says in one line that the service is down', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `http://${host}:${await freePort()}`;
      expect(await runExample(example, args(folder), url)).toEqual(saidUnreachable(url));
    }
  });

  test('tries again when the store was unavailable for a moment', async () => {
    if (example.file.includes('change')) stored.set(1n, fir);
    failures = [new PlantStoreError('store_unavailable', 'not now')];
    expect(await runExample(example, args(folder), server.url)).toMatchObject({ code: 0, stderr: '' });
    expect(failures).toEqual([]);
  });
});

describe('the scripts that run the TypeScript client', () => {
  const script = (name: string, args: readonly string[], env: Record<string, string>) =>
    run('npm', ['run', '--silent', name, '-w', 'examples/client', '--', ...args], env, projectFile(''));

  test('create, change and read a plant', async () => {
    for (const [name, ...args] of [
      ['create-plant', '1', 'Pinus'],
      ['change-plant', '1', '--name=Abies'],
      ['read-plants', '1'],
    ] as const) {
      const outcome = await script(name, args, addressed(server.url));
      expect([name, outcome]).toMatchObject([name, { code: 0, stderr: '' }]);
      expect(outcome.stdout).toContain(name === 'create-plant' ? 'Pinus' : 'Abies');
    }
    expect([...stored.values()]).toEqual([fir]);
  });

  test('say in one line that Node.js is too old', async () => {
    const old = join(folder, 'old.cjs');
    await writeFile(old, `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });`);
    const stderr = expect.stringMatching(/^Plant Store needs Node\.js 24 or newer; .*\n$/);
    const outcome = await script('create-plant', ['1', 'Pinus'], { NODE_OPTIONS: `--require ${old}` });
    expect(outcome).toEqual({ code: 1, stdout: '', stderr });
  });
});
