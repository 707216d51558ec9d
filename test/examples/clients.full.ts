import { beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { startApiServer } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { inEachLanguage, printed, runExample, said } from '../support/programs/example-programs.ts';

/* The programs that create a plant, run against the service. all-programs.full.ts has what all do. */

const pine: NewPlant = { id: 2n ** 63n - 1n, name: 'Pinus "longaeva"', tag: 'Nadelbäume' };

describe.each(inEachLanguage('create-plant'))('the client in $language', (example) => {
  let stored: Map<bigint, NewPlant | 'deleted'>;
  let server: HttpServer;
  beforeEach(async () => {
    stored = new Map();
    server = await startApiServer({ plants: fakePlants(stored) });
  });

  const create = ({ id, name, tag }: NewPlant) =>
    runExample(example, [id, name, ...(tag === undefined ? [] : [tag])], server.url);

  test('creates plants, their ids exact, with any letters in their texts, and may do so again', async () => {
    const odd = { id: 0n, name: '\uFEFF\t\\"\\u0041\u0001\u001f\u007f\n\n', tag: "$(id) '%s' 🌲\\" };
    const untagged = { id: -1n, name: '' };
    for (const { id, ...content } of [pine, pine, odd, untagged]) {
      const outcome = await create({ id, ...content });
      expect(outcome).toEqual(printed(expect.any(String)));
      expect(JSON.parse(outcome.stdout)).toEqual(content);
    }
    expect([...stored.values()]).toEqual([pine, odd, untagged]);
  });

  test('says which plant is at fault, and how', async () => {
    await create(pine);
    expect(await create({ ...pine, name: 'Pinus' })).toEqual(said(40009, 'give it another id'));
    expect(await create({ ...pine, id: 2n ** 63n })).toEqual(said(40022, 'fix the plant'));
    stored.set(pine.id, 'deleted');
    expect(await create(pine)).toEqual(said(40010, 'give it another id'));
  });
});
