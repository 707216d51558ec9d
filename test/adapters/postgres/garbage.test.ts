import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { connect, migratedDatabase, plantsIn } from '../../support/test-database.ts';

/* What a create allocates is garbage once it has its response: V8 then collects it in less than a millisecond. */

const CREATES = 600;

setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');
const oldSpace = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;

test('a create leaves nothing behind that outlives two collections of the young generation', async () => {
  const server = await migratedDatabase();
  const database = connect(server.url);
  const plants = plantsIn(database);
  let id = 0n;
  const bytesOfCreates = async () => {
    const before = oldSpace();
    for (let n = 1; n <= CREATES; n++) {
      await plants.add({ id: id++, name: 'Ginkgo biloba' });
      if (n % 25 === 0) collect({ type: 'minor' });
    }
    return (oldSpace() - before) / CREATES;
  };
  try {
    // What the first ones leave is code and caches, and now and then later ones leave some as well.
    const rounds = [];
    for (let round = 0; round < 4; round++) rounds.push(await bytesOfCreates());
    expect(Math.min(...rounds)).toBeLessThan(500);
  } finally {
    await database.close();
    await server.drop();
  }
});
