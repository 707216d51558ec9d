import { type Kysely, sql } from 'kysely';

/**
 * One row for each endpoint of webhooks: where it is in the feed of changes, who delivers to it, and what failed. An
 * older instance ignores it.
 *
 * `plants` says to which table the position belongs. A dump has it by name, so that it stays right if both tables are
 * restored; if only the plants are, it is that of a table that is gone.
 *
 * Can be run again, as after a restore without this table.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists webhooks (
    endpoint text primary key,
    plants regclass not null,
    changed bigint not null,
    id bigint not null,
    holder uuid,
    expires timestamptz not null default '-infinity',
    failures integer not null default 0,
    failing_since timestamptz,
    failing_changed bigint,
    failing_id bigint,
    reason text,
    retry_at timestamptz not null default '-infinity',
    parked boolean not null default false
  )`.execute(database);
}

/** Whether the table is there. */
export async function isIntact(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`select where to_regclass('webhooks') is not null`.execute(database);
  return rows.length > 0;
}
