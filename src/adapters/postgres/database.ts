import type { ColumnType, Generated, Kysely } from 'kysely';

/** The schema that the migrations create, as Kysely sees it. */
export interface Tables {
  plants: {
    /** int8 reads as a string from pg and as a number or a bigint from PGlite: BigInt() takes all three. */
    id: ColumnType<string | number | bigint, bigint, never>;
    name: string;
    tag: string | null;
    /** When it was deleted; null for a plant that exists. */
    deleted: Generated<Date | null>;
    /** The transaction that wrote the row last; ordered by it, the rows are the feed of changes. */
    changed: Generated<string | number | bigint>;
  };
  /** Kysely's own record of applied migrations. */
  kysely_migration: { name: string; timestamp: string };
}

/** An open database: a Postgres server or the embedded one. */
export interface Database {
  readonly sql: Kysely<Tables>;
  /** How many statements it can run at once. */
  readonly connections: number;
  /** Its connections by state; undefined if it has none. */
  readonly connectionUse?: () => { readonly busy: number; readonly idle: number; readonly unused: number };
  /** Rejects, saying what to do, while it responds but must not be used to store plants. */
  readonly verify?: () => Promise<void>;
  /** Which database this is, in words, without its password. */
  readonly description: string;
  close(): Promise<void>;
}
