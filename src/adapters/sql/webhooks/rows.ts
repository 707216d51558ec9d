import { sql } from 'kysely';
import type { Columns, Dialect } from '../dialect.ts';

/* Parts of the statements on rows of the table `webhooks`. */

/**
 * Whether the next attempt may begin. Without a holder, `expires` is when the last one failed, or later: it lies ahead of a
 * clock that has been set back since, and then `retry_at` says nothing.
 */
export const isDue = ({ clock }: Dialect) =>
  sql`(retry_at <= ${clock.now} or (holder is null and expires > ${clock.now}))`;

/** The columns of an endpoint that has not failed. */
export const noFailure = ({ clock }: Dialect): Columns => ({
  failures: sql`0`,
  failing_since: sql`null`,
  failing_changed: sql`null`,
  failing_id: sql`null`,
  reason: sql`null`,
  retry_at: clock.longAgo,
  parked: sql`false`,
});

/** The last row of the log: what is written from now on comes after it. */
export const lastOf = ({ log, distributed }: Dialect) => sql`
  select changed, id from plants where changed < (
    select ${distributed ? sql`null` : log.settled} from change_feed where single = 1
  ) order by changed desc, id desc limit 1`;
