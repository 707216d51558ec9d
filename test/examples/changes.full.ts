import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { Ports } from '../../src/application/use-cases.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { startApiServer } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import { inEachLanguage, runExample, said } from '../support/programs/example-programs.ts';
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import type { Outcome } from '../support/service-process.ts';

/* The programs that change and delete a plant, run against the service. all-programs.full.ts has what all do. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };
const renamed: NewPlant = { ...pine, name: '\uFEFF-Pinus\n' };

const CHANGED_MEANWHILE = 'somebody else has changed it meanwhile: trying again with what it is now\n';

/** The fields that differ from the pine. */
const args = ({ name, tag }: NewPlant) => [
  ...(name === pine.name ? [] : [`--name=${name}`]),
  ...(tag === pine.tag ? [] : [tag === undefined ? '--no-tag' : `--tag=${tag}`]),
];

describe.each(inEachLanguage('change-plant'))('the client in $language', (example) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let plants: Ports;
  let server: HttpServer;
  /** What somebody else does between a read and what follows it. */
  let meanwhile: () => Promise<unknown>;
  beforeEach(async () => {
    stored = new Map([[pine.id, pine]]);
    plants = fakePlants(stored);
    meanwhile = async () => {};
    const find: Ports['find'] = async (id) => {
      const found = await plants.find(id);
      await meanwhile();
      return found;
    };
    server = await startApiServer({ plants: { ...plants, find } });
  });

  /** The same, only once. */
  function once(work: () => Promise<unknown>): void {
    meanwhile = async () => {
      meanwhile = async () => {};
      await work();
    };
  }

  const runWith = (args: readonly unknown[], url = server.url) => runExample(example, args, url);

  const change = (plant: NewPlant) => runWith([plant.id, ...args(plant)]);

  const remove = (id = pine.id) => runWith([id, '--delete']);

  /** Prints JSON, in any spelling. */
  function expectPrinted(outcome: Outcome, plant: NewPlant, stderr = ''): void {
    expect(outcome).toEqual({ code: 0, stdout: expect.stringMatching(`^.*${plant.id}.*\n$`), stderr });
    expect(JSON.parse(outcome.stdout)).toEqual(JSON.parse(linesOf([plant])));
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
    const tag = 'somebody else';
    once(() => plants.replace({ ...pine, tag }));
    expectPrinted(await change(renamed), { ...renamed, tag }, CHANGED_MEANWHILE);
    expect(stored.get(pine.id)).toEqual({ ...renamed, tag });
  });

  test('keeps what is not to be changed, with any letters in it', async () => {
    const odd = { id: pine.id, name: '"}\\,"tag":"\n', tag: '\\"}{\u0001"name":"' };
    stored.set(pine.id, odd);
    expectPrinted(await runWith([pine.id, '--tag=a "b" \\']), { ...odd, tag: 'a "b" \\' });
    stored.set(pine.id, odd);
    expectPrinted(await runWith([pine.id, '--name=']), { ...odd, name: '' });
    stored.set(pine.id, odd);
    expectPrinted(await runWith([pine.id, '--no-tag']), { id: pine.id, name: odd.name });
  });

  test('gives up when somebody else changes it each time', async () => {
    let times = 0;
    meanwhile = () => plants.replace({ ...pine, tag: `${times++}` });
    const stderr = expect.stringMatching(/^(somebody else .*\n){4}41200: .*\(do it again; request .*\)\n$/);
    expect(await change(renamed)).toEqual({ code: 1, stdout: '', stderr });
  });

  test('does not delete what somebody else has changed meanwhile, unseen', async () => {
    const others: NewPlant = { ...pine, tag: 'somebody else' };
    once(() => plants.replace(others));
    expectPrinted(await remove(), others, CHANGED_MEANWHILE);
  });

  test('says that somebody else has deleted it meanwhile', async () => {
    once(() => plants.remove(pine.id));
    expect(await change(renamed)).toEqual(said(41000, 'check the id'));
  });

  test.each([
    ['PUT', args(renamed), renamed],
    ['DELETE', ['--delete'], pine],
  ])('sends a %s again whose response was lost', async (method, change, plant) => {
    const network = await startTcpProxy(server.url);
    const lost = network.cutNext(`${method} /plants/`, 'answer');
    expectPrinted(await runWith([pine.id, ...change], new URL(network.url).origin), plant);
    await lost;
  });
});
