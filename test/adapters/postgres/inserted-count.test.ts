import { expect, test } from '@jest/globals';
import type { Database } from '../../../src/adapters/postgres/database.ts';
import { postgresPlants } from '../../../src/adapters/postgres/plant-repository.ts';
import { storeCalls } from '../../../src/adapters/postgres/store-call.ts';
import { connect, migratedDatabase } from '../../support/test-database.ts';

const repository = (database: Database) =>
  postgresPlants(database, {
    callStore: storeCalls({ schemaReady: () => undefined, timeout: 20_000 }),
    batchRows: 256,
  });

test('counts the plants that its own statements have stored', async () => {
  const { url, drop } = await migratedDatabase();
  const [one, two] = [connect(url), connect(url)];
  try {
    const [plants, others] = [repository(one), repository(two)];
    expect(plants.inserted()).toBe(0);
    await others.add({ id: 1n, name: 'Rosa' });
    await Promise.all([
      plants.add({ id: 1n, name: 'Rosa' }),
      plants.add({ id: 2n, name: 'Acer' }),
      plants.add({ id: 2n, name: 'Ficus' }),
      plants.add({ id: 3n, name: 'Ficus' }),
    ]);
    await plants.add({ id: 2n, name: 'Acer' });
    expect([plants.inserted(), others.inserted()]).toEqual([2, 1]);
  } finally {
    await one.close();
    await two.close();
    await drop();
  }
});
