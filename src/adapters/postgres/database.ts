import type { Kysely } from 'kysely';
import type { SqlDatabase, Tables } from '../sql/dialect.ts';

/** An open database of Postgres. */
export interface Database extends SqlDatabase {
  readonly sql: Kysely<Tables>;
  /** Its connections by state. */
  readonly connectionUse: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /** As requireSafeSettings. */
  readonly verify: () => Promise<string | undefined>;
  /** Which database this is, in words, without its password. */
  readonly description: string;
  close(): Promise<void>;
}
