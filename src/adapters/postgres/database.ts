import type { Kysely } from 'kysely';
import type { SqlDatabase, Tables } from '../sql/dialect.ts';

/** An open database of Postgres. */
export interface Database extends SqlDatabase {
  readonly sql: Kysely<Tables>;
  /** Its connections by state. */
  readonly connectionUse: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /** Checks the settings as requireSafeSettings does. */
  readonly verify: () => Promise<string | undefined>;
  /** A description of the database, without its password. */
  readonly description: string;
  close(): Promise<void>;
}
