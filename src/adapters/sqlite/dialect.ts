import { sql } from 'kysely';
import type { Dialect } from '../sql/dialect.ts';

/** A purge of the newest row must not free its number. */
const NEXT = sql`(select 1 + max(purged_changed, coalesce((select max(changed) from plants), 0)) from change_feed)`;

export const sqlite: Dialect = {
  isOneOf: (column, list) => sql<boolean>`${column} in (select value from json_each(${list}))`,
  isCurrent: sql<boolean>`true`,
  hidden: (count) => count,
  tagKey: sql`tag`,
  hasTag: (tag, low, high) => sql<boolean>`tag = ${tag} and id between ${low} and ${high}`,
  // Most names are ASCII, which SQLite folds faster than a function of ours.
  contains: (name, text) => sql<boolean>`instr(
    case when octet_length(${name}) = length(${name}) then lower(${name}) else folded(${name}) end, folded(${text})) > 0`,
  // They take a millisecond or two, during which all others wait.
  rows: { returned: 500, passedOver: 5_000, searched: 500 },
  requireTags: () => {},
  items: (list) => sql`json_each(${list})`,
  now: sql`clock_time()`,
  change: { column: sql`, changed`, ofInsert: sql`, ${NEXT}`, ofUpdate: NEXT },
  lock: sql``,
  awaitStandby: sql`null`,
};
