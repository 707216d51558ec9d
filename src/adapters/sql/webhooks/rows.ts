import { sql } from 'kysely';
import type { Dialect } from '../dialect.ts';

/* Parts of the statements on rows of the table `webhooks`. */

/**
 * Whether the next attempt may begin. Without a holder, `expires` is when the last one failed, or later: it lies ahead of a
 * clock that has been set back since, and then `retry_at` says nothing.
 */
export const isDue = ({ clock }: Dialect) =>
  sql`(retry_at <= ${clock.now} or (holder is null and expires > ${clock.now}))`;

/** As of an endpoint that has not failed. */
export const noFailure = ({ clock }: Dialect) => sql`failures = 0, failing_since = null, failing_changed = null,
  failing_id = null, reason = null, retry_at = ${clock.longAgo}, parked = false`;

/** The last row of the log: what is written from now on comes after it. */
export const lastOf = ({ log }: Dialect) => sql`
  select changed, id from plants where changed < (
    select ${log instanceof Error ? sql`null` : log.settled} from change_feed where single = 1
  ) order by changed desc, id desc limit 1`;
