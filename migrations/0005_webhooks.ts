import { type Kysely, sql } from 'kysely';

/**
 * One row for each endpoint of webhooks: where it is in the feed of changes, who delivers to it, and what failed. An
 * older instance ignores it.
 *
 * `plants` says to which table the position belongs. A dump has it by name, so that it stays right if both tables are
 * restored; if only the plants are, it is that of a table that is gone.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`create table webhooks (
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

export async function down(database: Kysely<unknown>): Promise<void> {
  await sql`drop table webhooks`.execute(database);
}
