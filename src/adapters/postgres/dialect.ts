import { sql } from 'kysely';
import type { Dialect } from '../sql/dialect.ts';
import { log } from './change-log.ts';

/** The tag in the form of its index (migration 0006), whatever the database's locale. */
const TAG = sql`plants.tag collate "C"`;

export const postgres: Dialect = {
  // Immutable, unlike a cast of the whole text: so the plan of a distributed table has only the servers of the ids.
  isOneOf: (column, list) =>
    sql<boolean>`${column} = any(string_to_array(translate(${list}, '[]"', ''), ',')::bigint[])`,
  // A standby may lag, and has no current position in the WAL.
  isCurrent: sql<boolean>`(select pg_current_wal_lsn() is not null)`,
  hideLimit: (count) => sql`(select cast(${count} as bigint))`,
  tagKey: TAG,
  // With `tag = ...`, Postgres may read all plants of the tag, or all their ids. The first condition matches the index.
  hasTag: (tag, low, high) =>
    sql<boolean>`octet_length(plants.tag) <= 800 and (${TAG}, id) >= (${tag}, ${low}) and (${TAG}, id) <= (${tag}, ${high})`,
  forEach: (list, rows) =>
    sql`jsonb_array_elements(${list}::jsonb) with ordinality as item (value, number), lateral (${rows}) as page`,
  canRecurse: true,
  // Some locales give a sigma another form at the end of a word, and would not find a text in a longer word.
  contains: (name, text) =>
    sql<boolean>`strpos(replace(lower(${name}), 'ς', 'σ'), replace(lower(${text}), 'ς', 'σ')) > 0`,
  scannedRowsMax: 20_000,
  // As jsonb, an item is not parsed again for each of its columns.
  items: (list) => sql`jsonb_array_elements(${list}::jsonb)`,
  inserted: {},
  changedByUpdate: sql`default`,
  // With FOR UPDATE, a foreign key that refers to the row would lock it as well.
  lock: (table) => sql`for no key update of ${sql.table(table)} skip locked`,
  // After a crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary.
  // Evaluated once, since it refers to no row.
  awaitStandby: sql`(
    select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> '')`,
  log,
  // now() is the start of the statement: later writes of another instance would lie ahead of it.
  clock: {
    now: sql`clock_timestamp()`,
    later: (milliseconds) => sql`(clock_timestamp() + ${milliseconds} * interval '1 millisecond')`,
    millisecondsSince: (time) => sql<number>`(extract(epoch from clock_timestamp() - ${time}) * 1000)::float8`,
    longAgo: sql`'-infinity'`,
  },
  presentTable: { plants: sql`'plants'::regclass` },
};
