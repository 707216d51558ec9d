import type { SQLInputValue } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { failureOf } from '../../src/adapters/postgres/failures.ts';
import { runner } from '../../src/adapters/sql/run.ts';
import { useCases } from '../../src/application/use-cases.ts';
import { plantsOn } from '../../src/bootstrap/plants.ts';
import type { Stage } from './faults.ts';
import type { Process } from './kernel.ts';
import type { PostgresFaults } from './plan.ts';
import { model, postgresServer, SAFE_AGE } from './postgres-server.ts';
import type { Run } from './run.ts';
import { type Opener, supervisedServices } from './services.ts';
import { observedTable } from './table.ts';

type Server = ReturnType<typeof postgresServer>;

export function onPostgres(run: Run, faults: PostgresFaults): Stage {
  const { history } = run;
  const server = postgresServer(run, faults, () => table.update());
  const table = observedTable(run, server.rows, false);
  return {
    services: supervisedServices(run, opener(run, server, faults.connections)),
    table,
    lateness: SAFE_AGE,
    inject({ fault }) {
      if (fault !== 'purge') return;
      run.mayExpire = true;
      const [from, ids, to] = [history.tick(), server.purge(), history.tick()];
      for (const id of ids) history.wrote(id, from, to, fault, (state) => (state === 'deleted' ? 'absent' : undefined));
      table.update();
    },
    heal: server.calm,
    isWholeSince: server.isQuietSince,
    missing: () => [],
    close: server.close,
  };
}

/** The service, as bootstrap/postgres-store.ts and bootstrap/app.ts put it together, but for webhooks. */
function opener({ plan: { timeout, batching } }: Run, server: Server, connections: number): Opener {
  return {
    async open(process) {
      const executor = runner(
        { sql: kyselyOver(server, process), connections, failureOf, withAdvice: (error) => error },
        { gate: () => model, timeout },
      );
      const store = plantsOn(executor, { timeout, ...batching });
      return { cases: useCases(store), stopWaiting: store.stopWaiting };
    },
    close() {},
  };
}

function kyselyOver(server: Server, process: Process): Kysely<unknown> {
  const connection = {
    executeQuery: ({ sql, parameters }: CompiledQuery) => server.execute(process, sql, parameters as SQLInputValue[]),
  } as unknown as DatabaseConnection;
  return new Kysely({
    dialect: {
      createDriver: () => Object.assign(new DummyDriver(), { acquireConnection: async () => connection }),
      // Of several connections.
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    },
  });
}
