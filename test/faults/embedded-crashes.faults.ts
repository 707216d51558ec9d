import { test } from '@jest/globals';
import { embeddedDatabase } from '../../src/adapters/postgres/embedded/embedded-database.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { crashRounds, emptyHistory, startMortalService } from '../support/faults/crash-rounds.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { storedPlants } from '../support/test-database.ts';

/* Only in the long run, since each start of the embedded database takes seconds. */

test(
  'loses nothing and serves again: service on the embedded database, SIGKILL',
  async () => {
    const folder = await temporaryFolder();
    const service = await startMortalService(() => ({ DATA_DIR: folder }));

    /** Only one process may open the folder. */
    async function rows(): Promise<NewPlant[]> {
      await service.kill();
      const database = await embeddedDatabase(folder);
      const plants = await storedPlants(database);
      await database.close();
      await service.start();
      return plants;
    }

    async function crash(): Promise<void> {
      await service.kill();
      await service.start();
    }

    const killed = 'service on the embedded database, SIGKILL';
    await crashRounds({ killed, urls: [service.url], serviceLives: false, crash, rows, history: emptyHistory() });
  },
  30 * 60_000,
);
