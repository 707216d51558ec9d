import type { ColumnType, Generated, Kysely } from 'kysely';

/** What the migrations create, as far as statements are built on it; those that are texts use more. */
interface Tables {
  plants: {
    id: ColumnType<bigint, bigint, never>;
    name: string;
    tag: string | null;
    /** When it was deleted; null for a plant that exists. */
    deleted: Generated<Date | null>;
    /** The transaction that wrote the row last; ordered by it, the rows are the feed of changes. */
    changed: Generated<bigint>;
  };
  /** Kysely's own record of applied migrations. */
  kysely_migration: { name: string; timestamp: string };
}

/** An open database of Postgres. */
export interface Database {
  readonly sql: Kysely<Tables>;
  /** How many statements it can run at once. */
  readonly connections: number;
  /** Whether Citus has distributed the table `plants` over several servers. Once known, it stays the same. */
  readonly isDistributed: () => Promise<boolean>;
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
