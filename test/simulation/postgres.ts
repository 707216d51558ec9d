import { Kysely, PostgresDialect, type PostgresDialectConfig } from 'kysely';
import type { Database } from '../../src/adapters/postgres/database.ts';
import { postgres } from '../../src/adapters/postgres/dialect.ts';
import { failureOf } from '../../src/adapters/postgres/failures.ts';
import { groupCommit } from '../../src/adapters/postgres/group-commit.ts';
import { listAdder } from '../../src/adapters/postgres/plants/add-all.ts';
import { plantWriter } from '../../src/adapters/postgres/plants/write.ts';
import { plantFinder } from '../../src/adapters/sql/find.ts';
import { readsInParts } from '../../src/adapters/sql/reads-in-parts.ts';
import { runner } from '../../src/adapters/sql/run.ts';
import { isAfter, START } from '../../src/application/changes/cursor.ts';
import { changeLog } from '../../src/application/changes/log.ts';
import type { LogReader } from '../../src/application/changes/ports.ts';
import type { PlantRange } from '../../src/application/ports.ts';
import { useCases } from '../../src/application/use-cases.ts';
import type { Stage } from './faults.ts';
import type { Process } from './kernel.ts';
import type { PostgresFaults } from './plan.ts';
import { postgresServer, SAFE_AGE } from './postgres-server.ts';
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
    close() {},
  };
}

/** The service, as composition/postgres-store.ts and composition/app.ts put it together, but for webhooks. */
function opener({ plan: { timeout, batching } }: Run, server: Server, connections: number): Opener {
  return {
    async open(process) {
      const database = databaseOn(server, process, connections);
      const run = runner(database, { gate: () => postgres, timeout });
      const { announce, ...feed } = changeLog(feedReader(server, process, run));
      const write = plantWriter(database, run, { onInsert: announce, onUpdate: announce });
      const reads = readsInParts({
        plants: (range, count) => run('reads', () => server.ask(process, () => scan(server, range, count))),
        count: async () => ({ count: 0, next: undefined }),
        tags: async () => ({ tags: [], next: undefined }),
      });
      const store = {
        ...groupCommit({ write, find: plantFinder(run, failureOf) }, { ...batching, timeout }),
        addAll: listAdder(write, { batchRows: batching.maxItems, timeout }),
        ...reads,
        ...feed,
      };
      return { cases: useCases(store), stopWaiting: feed.stopWaiting };
    },
    close() {},
  };
}

function databaseOn(server: Server, process: Process, connections: number): Database {
  const query = (sql: string, parameters: readonly unknown[]) => server.execute(process, sql, parameters);
  const pool = { connect: async () => ({ query, release() {} }), end: async () => {} };
  const sql = new Kysely({ dialect: new PostgresDialect({ pool } as unknown as PostgresDialectConfig) });
  return { sql, connections, failureOf, isDistributed: async () => false } as unknown as Database;
}

function feedReader(server: Server, process: Process, run: ReturnType<typeof runner>): LogReader {
  const ask = <T>(work: () => T) => run('feed', () => server.ask(process, work));
  const end = () => {
    const { changed, id } = server.visible().at(-1) ?? START;
    return { ...server.state(), position: { changed, id } };
  };
  return {
    part: (after, count) =>
      ask(() => ({
        end: end(),
        rows: server
          .visible()
          .filter((row) => isAfter(row, after))
          .slice(0, count),
      })),
    end: () => ask(end),
    holder: async () => undefined,
  };
}

function scan(server: Server, { from, to, order = 'asc' }: PlantRange, count: number) {
  const inRange = server
    .rows()
    .filter(({ id }) => id >= from && id <= to)
    .sort((a, b) => (a.id < b.id === (order === 'asc') ? -1 : 1));
  const all = inRange.flatMap(({ stored }) => (stored === 'deleted' ? [] : [stored]));
  const plants = all.slice(0, count);
  return { plants, next: plants.length < all.length ? plants.at(-1)?.id : undefined };
}
