import { afterAll, describe, expect, test } from '@jest/globals';
import { embeddedDatabase } from '../src/adapters/postgres/embedded/embedded-database.ts';
import { markdownTable } from '../tooling/markdown-table.ts';
import { apiClient } from './support/api-client.ts';
import { TOKEN } from './support/api-server.ts';
import { embeddedFolder } from './support/embedded-template.ts';
import { allDefinite, sendRandomRequests } from './support/faults/random-requests.ts';
import { startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, storedPlants, storedPlantsAt } from './support/test-database.ts';

/* So that nothing deleted ever comes back. With faults: faults/linearizability.full.ts. */

/** Where it is, and how it is read once nothing else uses it. */
async function postgres() {
  const { url } = await migratedDatabase();
  return { environment: { DATABASE_URL: url }, all: () => storedPlantsAt(url) };
}

async function embedded() {
  const folder = await embeddedFolder();
  async function all() {
    const database = await embeddedDatabase(folder);
    return storedPlants(database).finally(database.close);
  }
  return { environment: { DATA_DIR: folder }, all };
}

const report: string[][] = [];
afterAll(() => {
  process.stdout.write(`\n${markdownTable(['database', 'response', 'times'], report)}\n\n`);
});

describe.each([
  ['two instances on Postgres', postgres, 2, 10_000],
  // It does one after another.
  ['the embedded database', embedded, 1, 5_000],
])('on %s', (where, open, instances, count) => {
  test('never brings back what was deleted, and gives no response that was not right at its time', async () => {
    const { environment, all } = await open();
    const start = async () =>
      startService(await temporaryFolder(), { ...environment, ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'error' });
    const services = await Promise.all(Array.from({ length: instances }, start));
    const clients = services.map(({ apiUrl }) => apiClient(apiUrl));
    const { counts, contradictions } = await sendRandomRequests(clients, (requests) => requests >= count);
    for (const each of clients) each.close();
    for (const service of services) {
      service.kill('SIGTERM');
      await service.exited;
    }
    const stored = await all();
    for (const [answer, times] of [...counts].sort()) report.push([where, answer, `${times}`]);
    // Without a fault every answer is definite, and there were all kinds.
    expect([...counts.keys()].sort()).toEqual(allDefinite);
    expect(contradictions(stored)).toEqual([]);
  });
});
