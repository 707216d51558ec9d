import type { Kysely } from 'kysely';
import type { Dialect, SqlDatabase, Tables } from '../sql/dialect.ts';

/** An open database of Postgres. */
export interface Database extends SqlDatabase {
  readonly sql: Kysely<Tables>;
  /** Asks which one it has now: Citus may distribute a table under a service. */
  readonly dialect: () => Promise<Dialect>;
  /** Its connections by state. */
  readonly connectionUse: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /**
   * Rejects, saying what to do, while it responds but must not be used to store plants. Resolves to what is wrong though it
   * can be, if anything is.
   */
  readonly verify: () => Promise<string | undefined>;
  /** Which database this is, in words, without its password. */
  readonly description: string;
  close(): Promise<void>;
}
