import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';

/** @throws SchemaError, saying what to do, if the database's settings are unsafe for plants */
export async function requireSettings({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ encoding: string; level: string }>`
    select current_setting('server_encoding') as encoding, current_setting('client_min_messages') as level
  `.execute(database);
  for (const { encoding, level } of rows) {
    if (encoding !== 'UTF8') {
      throw new SchemaError(
        `the database's encoding is ${encoding}: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
      );
    }
    // Without warnings, a commit whose wait for the synchronous standby was cancelled would look like any other.
    if (level === 'error') {
      throw new SchemaError(
        'client_min_messages is error for this role: run ALTER ROLE ... RESET client_min_messages, ' +
          "or remove it from the database's URL",
      );
    }
  }
}
