import { beforeAll, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import type { PostgresServer } from '../../tooling/postgres-server.ts';
import { storedPlantsIn } from '../support/embedded-store.ts';
import { crashRounds, type MortalService, startMortalService } from '../support/faults/crash-rounds.ts';
import { ownPostgres, shutDown } from '../support/servers/own-postgres.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/* One round each in npm run test:full, more in npm run test:faults. Every round also checks all rounds before it. */

jest.setTimeout(30 * 60_000);

let postgres: PostgresServer;
beforeAll(async () => {
  // As its users run it: with fsync.
  postgres = await ownPostgres();
});

async function killBackend(): Promise<void> {
  const backends = "select pid from pg_stat_activity where application_name = 'plant-store' order by random()";
  const [backend] = await execute(postgres.url, backends);
  process.kill(Number(backend?.pid), 'SIGKILL');
}

async function killPostgres(signal: NodeJS.Signals): Promise<void> {
  await shutDown(postgres, signal);
  postgres = await postgres.restart();
}

const killBoth = (service: MortalService) => Promise.all([service.restart(), killPostgres('SIGKILL')]);

test.each<[killed: string, serviceLives: boolean, crash: (service: MortalService) => Promise<unknown>]>([
  ['service, SIGKILL', false, (service) => service.restart()],
  ['one Postgres backend, SIGKILL', true, killBackend],
  ['Postgres, SIGQUIT', true, () => killPostgres('SIGQUIT')],
  ['Postgres, SIGKILL', true, () => killPostgres('SIGKILL')],
  ['service and Postgres, SIGKILL', false, killBoth],
])('loses nothing and serves again: %s', async (killed, serviceLives, crash) => {
  const { url } = await migratedDatabase(postgres.url);
  const service = await startMortalService(() => ({ DATABASE_URL: url, STORE_TIMEOUT: '60s' }));
  await crashRounds({
    killed,
    urls: [service.url],
    serviceLives,
    isPatient: serviceLives,
    crash: () => crash(service),
    rows: () => storedPlantsAt(url),
  });
});

test('loses nothing and serves again: service on SQLite, SIGKILL', async () => {
  const folder = await temporaryFolder();
  const { url, restart, whileDown } = await startMortalService(() => ({ DATA_DIR: folder }));
  await crashRounds({
    killed: 'service on SQLite, SIGKILL',
    urls: [url],
    serviceLives: false,
    crash: restart,
    rows: () => whileDown(() => storedPlantsIn(folder)),
  });
});
