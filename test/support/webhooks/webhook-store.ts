import { CompiledQuery } from 'kysely';
import { storeCalls } from '../../../src/adapters/postgres/calls/store-call.ts';
import type { Database } from '../../../src/adapters/postgres/database.ts';
import { webhookEndpoints } from '../../../src/adapters/postgres/webhooks/webhook-endpoints.ts';
import { webhookEntries } from '../../../src/adapters/postgres/webhooks/webhook-entries.ts';
import { webhookPositions } from '../../../src/adapters/postgres/webhooks/webhook-positions.ts';
import * as embedded from '../embedded-template.ts';
import { connect, migratedDatabase, plantsIn } from '../test-database.ts';

/* Positions of webhooks in a real database. */

/** A database and what undoes it. */
export interface OpenedDatabase {
  readonly database: Database;
  /** Where it is, if others can connect to it. */
  readonly url?: string;
  close(): Promise<void>;
}

export async function openEmbedded(): Promise<OpenedDatabase> {
  const database = await embedded.openEmbedded();
  return { database, close: database.close };
}

/** @param server of its own, for transactions that are left open */
export async function openPostgres(server?: string): Promise<OpenedDatabase> {
  const { url, directUrl, drop } = await migratedDatabase(server);
  const database = connect(url);
  return {
    database,
    url: directUrl,
    async close() {
      await database.close();
      await drop();
    },
  };
}

/** What an instance of the service has of it. */
export function webhooksIn(database: Database) {
  const callStore = storeCalls({ schemaReady: () => undefined, timeout: 10_000 });
  return {
    plants: plantsIn(database),
    ...webhookPositions(database, callStore),
    ...webhookEntries(database, callStore, () => false),
    endpoints: webhookEndpoints(database, callStore),
    query: (text: string) => database.sql.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text)),
  };
}
