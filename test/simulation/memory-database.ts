import type { DatabaseSync } from 'node:sqlite';
import { type PlantRow, storedIn } from '../../src/adapters/sql/plant-rows.ts';
import { copyDatabase } from '../../src/adapters/sqlite/backup.ts';
import { openConnection } from '../../src/adapters/sqlite/file/connection.ts';
import { applySchema } from '../../src/adapters/sqlite/file/schema.ts';
import type { simulatedDisk } from './disk.ts';
import type { Row } from './table.ts';

let databases = 0;

/** SQLite in memory, with several connections. It outlives the processes that use it, and can be copied and set back. */
export function memoryDatabase(disk: ReturnType<typeof simulatedDisk>) {
  const connections: DatabaseSync[] = [];
  const newAddress = () => `file:/plants-${++databases}?vfs=memdb`;
  function connect(address = main.address): DatabaseSync {
    const sql = disk.attach(openConnection(address));
    connections.push(sql);
    return sql;
  }
  function opened(address: string) {
    const sql = connect(address);
    applySchema(sql);
    return {
      address,
      sql,
      rows: sql.prepare('select id, name, tag, deleted, changed from plants'),
      leases: sql.prepare('select endpoint, holder, expires from webhooks'),
      epoch: sql.prepare('select store from change_feed').get()?.store,
    };
  }
  let leases = new Map<unknown, Readonly<Record<string, unknown>>>();
  let main = opened(newAddress());
  return {
    connect: () => connect(),
    rows: (): Row[] =>
      main.rows.all().map((row) => {
        const { id, changed, ...rest } = row as unknown as PlantRow & { readonly changed: bigint };
        return { id, stored: storedIn({ id, ...rest }), changed };
      }),
    /** To be called after each commit: nothing can be read while another transaction is open. */
    noteLeases(): void {
      leases = new Map(main.leases.all().map((lease) => [lease.endpoint, lease]));
    },
    leaseOf: (endpoint: string) => leases.get(endpoint),
    epoch: () => main.epoch,
    /** Endpoints that have failed or are parked, so that it takes long until they are tried again. */
    failing: () =>
      main.sql
        .prepare('select endpoint from webhooks where failures > 2 or parked > 0')
        .all()
        .map(({ endpoint }) => `${endpoint}`),
    /** @returns where the copy is */
    backUp(): string {
      const address = newAddress();
      // As long as it is open, the copy stays.
      connect(address);
      copyDatabase(main.sql, address);
      return address;
    },
    /** Processes that use the former database must have ended. */
    restore(address: string): void {
      main = opened(address);
    },
    close(): void {
      for (const sql of connections) if (sql.isOpen) sql.close();
    },
  };
}

export type MemoryDatabase = ReturnType<typeof memoryDatabase>;
