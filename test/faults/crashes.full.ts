import { beforeAll, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import type { PostgresServer } from '../../tooling/postgres-server.ts';
import { storedPlantsIn } from '../support/embedded-store.ts';
import { crashRounds, emptyHistory, type MortalService, startMortalService } from '../support/faults/crash-rounds.ts';
import { migratedPostgres, shutDown } from '../support/servers/own-postgres.ts';
import { temporaryFolder } from '../support/service-process.ts';
import { storedPlantsAt } from '../support/test-database.ts';

/* One round each in npm run test:full, more in npm run test:faults. Every round also checks all rounds before it. */

jest.setTimeout(30 * 60_000);

let postgres: PostgresServer;
/** Of all tests on Postgres, which share the table. */
const history = emptyHistory();
beforeAll(async () => {
  // As its users run it: with fsync.
  postgres = await migratedPostgres();
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

interface Crash {
  readonly killed: string;
  readonly serviceLives: boolean;
  readonly crash: (service: MortalService) => Promise<unknown>;
}

test.each<Crash>([
  { killed: 'service, SIGKILL', serviceLives: false, crash: (service) => service.restart() },
  { killed: 'one Postgres backend, SIGKILL', serviceLives: true, crash: killBackend },
  { killed: 'Postgres, SIGQUIT', serviceLives: true, crash: () => killPostgres('SIGQUIT') },
  { killed: 'Postgres, SIGKILL', serviceLives: true, crash: () => killPostgres('SIGKILL') },
  {
    killed: 'service and Postgres, SIGKILL',
    serviceLives: false,
    crash: (service) => Promise.all([service.restart(), killPostgres('SIGKILL')]),
  },
])('loses nothing and serves again: $killed', async ({ killed, serviceLives, crash }) => {
  const service = await startMortalService(() => ({ DATABASE_URL: postgres.url, STORE_TIMEOUT: '60s' }));
  await crashRounds({
    killed,
    urls: [service.url],
    serviceLives,
    isPatient: serviceLives,
    crash: () => crash(service),
    rows: () => storedPlantsAt(postgres.url),
    history,
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
    history: emptyHistory(),
  });
});
