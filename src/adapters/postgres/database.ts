import type { ColumnType, Kysely } from 'kysely';

/** The SQL schema as Kysely sees it; the migrations make it. */
export interface Tables {
  plants: {
    /** int8 reads as a string from pg and as a number or a bigint from PGlite: BigInt() takes all three. */
    id: ColumnType<string | number | bigint, bigint, never>;
    name: string;
    tag: string | null;
  };
  /** Kysely's own record of what has been applied. */
  kysely_migration: { name: string; timestamp: string };
}

/** An open database, whichever kind it is. */
export interface Database {
  readonly sql: Kysely<Tables>;
  /** How many statements it can run at once. */
  readonly connections: number;
  /** How many of its connections do what; undefined if it has none. */
  readonly connectionUse?: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /** Rejects, saying what to do, while plants must not be entrusted to it though it responds. */
  readonly verify?: () => Promise<void>;
  /** For people: which database this is, without its password. */
  readonly description: string;
  close(): Promise<void>;
}
