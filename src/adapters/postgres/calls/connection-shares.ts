import type { Database } from '../database.ts';

/**
 * The largest part of the connections that the statements of each kind may use at once. These are ceilings and no
 * partition: together they exceed the connections, since one kind may use what the others leave. In trials, parts that
 * add up to all connections gained nothing.
 */
const SHARES = {
  /** The others are for reads, which must not starve while many plants are created. */
  inserts: 0.75,
  /** Changes and deletions, so that many changes of one row leave room for creates and reads. */
  updates: 0.5,
  /** Single plants in groups. */
  finds: 0.5,
  /** Pages in groups. Pages of a tag have as many connections again. */
  pages: 0.5,
  /** Plants and pages that are too large for a group. With less than pages have, many of 80 KB would wait for seconds. */
  large: 0.5,
  /** Followers of the feed, who share statements. */
  changes: 0.3,
  /** Parts of streams, which take long: most of the database is left to others. */
  long: 0.1,
  /** Parts of searches, which look at many plants for each that they find. */
  searches: 0.1,
  /** Pages of webhooks, which nobody waits for. */
  webhooks: 0.1,
};

export type StatementKind = keyof typeof SHARES;

/** How many statements of this kind may run at once: one at least. */
export function maxRunning({ connections }: Database, kind: StatementKind): number {
  return Math.ceil(connections * SHARES[kind]);
}
