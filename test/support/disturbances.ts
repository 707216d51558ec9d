import type { CompiledQuery } from 'kysely';
import { Client } from 'pg';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import { atEnd } from './lifetimes.ts';

/* What others do while a service uses a database: transactions that stay open, and anything between two statements. */

/** A connection of its own with a transaction that has done this, and stays open until the end of the test at most. */
export async function openTransaction(url: string, statement: string): Promise<Client> {
  // A test may end it from the server's side.
  const client = new Client({ connectionString: url }).on('error', () => {});
  await client.connect();
  atEnd(() => client.end());
  await client.query(`begin; ${statement}`);
  return client;
}

/** The same, that has added plants. */
export function lockRows(url: string, ids: readonly bigint[]): Promise<Client> {
  return openTransaction(url, `insert into plants select unnest('{${ids}}'::bigint[]), 'not committed yet'`);
}

/** The same database. @param after called with each statement once it has its result */
export function observed(
  database: Database,
  after: (text: string, parameters: readonly unknown[], rows: readonly unknown[]) => unknown,
): Database {
  const sql = new Proxy(database.sql, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (key !== 'executeQuery') return value.bind(target);
      return async (statement: CompiledQuery) => {
        const result = await target.executeQuery(statement);
        await after(statement.sql, statement.parameters, result.rows);
        return result;
      };
    },
  });
  return { ...database, sql };
}
