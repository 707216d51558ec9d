import { sql } from 'kysely';
import type { Database } from './database.ts';
import { SchemaError } from './errors.ts';

/** @throws SchemaError, saying what to do, if the database cannot hold every text */
export async function requireUtf8({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(
    database,
  );
  const encoding = rows[0]?.encoding;
  if (encoding === 'UTF8') return;
  throw new SchemaError(
    `the database's encoding is ${encoding}: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
  );
}

/**
 * Without warnings, a commit whose wait for the synchronous standby was cancelled would look like any other.
 *
 * @throws SchemaError, saying what to do, if there would be none
 */
export async function requireWarnings({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ level: string }>`select current_setting('client_min_messages') as level`.execute(
    database,
  );
  if (rows[0]?.level !== 'error') return;
  throw new SchemaError(
    "client_min_messages is error for this role: run ALTER ROLE ... RESET client_min_messages, or remove it from the database's URL",
  );
}
