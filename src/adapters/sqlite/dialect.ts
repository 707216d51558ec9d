import { CompiledQuery, sql } from 'kysely';
import type { Dialect } from '../sql/dialect.ts';
import { RENEW_LOG } from './file/schema.ts';

/** The number of the next transaction that writes plants. A purge of the newest row must not free its number. */
const NEXT = sql<bigint>`1 + max(purged_changed, coalesce((select max(changed) from plants), 0))`;

/** The time by a function of the connection, in milliseconds since 1970. */
const NOW = sql`clock_time()`;

export const sqlite = {
  isOneOf: (column, list) => sql<boolean>`${column} in (select value from json_each(${list}))`,
  isCurrent: sql<boolean>`true`,
  hideLimit: (count) => count,
  tagKey: sql`tag`,
  hasTag: (tag, low, high) => sql<boolean>`tag = ${tag} and id between ${low} and ${high}`,
  canRecurse: true,
  // Most names are ASCII, which SQLite folds faster than our function.
  contains: (name, text) => sql<boolean>`instr(
    case when octet_length(${name}) = length(${name}) then lower(${name}) else folded(${name}) end, folded(${text})) > 0`,
  // Such scans take a millisecond or two, while all other work waits.
  scannedRowsMax: 5_000,
  items: (list) => sql`json_each(${list})`,
  inserted: { changed: sql`(select ${NEXT} from change_feed)` },
  changedByUpdate: sql`(select ${NEXT} from change_feed)`,
  // Only one transaction writes at a time.
  lock: () => sql``,
  awaitStandby: sql`null`,
  log: {
    state: sql`select store as epoch, purged_changed, purged_id, ${NEXT} as next, ${NEXT} as settled from change_feed`,
    settled: NEXT,
    isStateReadLast: true,
    requireIntact: () => {},
    nameOnce: async () => false,
    renew: async ({ sql }) => void (await sql.executeQuery(CompiledQuery.raw(RENEW_LOG))),
  },
  clock: {
    now: NOW,
    later: (milliseconds) => sql`(${NOW} + cast(${milliseconds} as integer))`,
    millisecondsSince: (time) => sql<number>`(${NOW} - ${time})`,
    longAgo: sql`0`,
  },
  presentTable: {},
} satisfies Dialect;
