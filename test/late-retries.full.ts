import { afterAll, describe, expect, test } from '@jest/globals';
import { embeddedDatabase } from '../src/adapters/postgres/embedded/embedded-database.ts';
import type { NewPlant } from '../src/domain/plant.ts';
import { markdownTable } from '../tooling/markdown-table.ts';
import { type ApiClient, apiClient } from './support/api-client.ts';
import { TOKEN } from './support/api-server.ts';
import { putEmbeddedDatabase } from './support/embedded-template.ts';
import { allDefinite, sendRandomRequests } from './support/faults/random-requests.ts';
import { startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, storedPlants, storedPlantsAt } from './support/test-database.ts';

/* So that nothing deleted ever comes back. With faults: faults/linearizability.full.ts. */

/** An instance or two of the service, as processes. */
interface Running {
  readonly clients: readonly ApiClient[];
  /** Ends them. @returns everything that is stored */
  stop(): Promise<NewPlant[]>;
}

async function onPostgres(): Promise<Running> {
  const { url, drop } = await migratedDatabase();
  const start = async () => startService(await temporaryFolder(), { ...environment, DATABASE_URL: url });
  const services = await Promise.all([start(), start()]);
  const clients = services.map(({ apiUrl }) => apiClient(apiUrl));
  return {
    clients,
    async stop() {
      for (const each of clients) each.close();
      for (const service of services) {
        service.kill('SIGTERM');
        await service.exited;
      }
      const plants = await storedPlantsAt(url);
      await drop();
      return plants;
    },
  };
}

async function onEmbedded(): Promise<Running> {
  const folder = await temporaryFolder();
  await putEmbeddedDatabase(folder);
  const service = await startService(folder, { ...environment, DATA_DIR: folder });
  const client = apiClient(service.apiUrl);
  return {
    clients: [client],
    async stop() {
      client.close();
      service.kill('SIGTERM');
      await service.exited;
      const database = await embeddedDatabase(folder);
      const plants = await storedPlants(database);
      await database.close();
      return plants;
    },
  };
}

const environment = { ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'error' };

const report: string[][] = [];
afterAll(() => {
  process.stdout.write(`\n${markdownTable(['database', 'response', 'times'], report)}\n\n`);
});

describe.each([
  ['two instances on Postgres', onPostgres, 10_000],
  // It does one after another.
  ['the embedded database', onEmbedded, 5_000],
])('on %s', (where, start, count) => {
  test('never brings back what was deleted, and gives no response that was not right at its time', async () => {
    const { clients, stop } = await start();
    const { counts, contradictions } = await sendRandomRequests(clients, (requests) => requests >= count);
    const stored = await stop();
    for (const [answer, times] of [...counts].sort()) report.push([where, answer, `${times}`]);
    // Without a fault every answer is definite, and there were all kinds.
    expect([...counts.keys()].sort()).toEqual(allDefinite);
    expect(contradictions(stored)).toEqual([]);
  });
});
