import { randomUUID } from 'node:crypto';
import { isAfter } from '../../../application/changes/cursor.ts';
import type { KeepPositions, Lease, LeaseOutcome } from '../../../application/webhooks/ports.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';

/** A row of the table `webhooks`. */
interface WebhookRow {
  readonly endpoint: string;
  readonly changed: bigint;
  readonly id: bigint;
  readonly holder: string | null;
  readonly expires: bigint;
  readonly failures: bigint;
  readonly failing_since: bigint | null;
  readonly failing_changed: bigint | null;
  readonly failing_id: bigint | null;
  readonly reason: string | null;
  readonly retry_at: bigint;
  readonly parked: bigint;
}

/** Of a row of the table `webhooks`. */
export const ROW = {
  /** As of an endpoint that has not failed. */
  noFailure: `failures = 0, failing_since = null, failing_changed = null, failing_id = null,
    reason = null, retry_at = 0, parked = 0`,
  /**
   * Whether the next attempt may begin. Without a holder, `expires` is when the last one failed, or later: it lies ahead of a
   * clock that has been set back since, and then `retry_at` says nothing.
   */
  isDue: ({ retry_at, holder, expires }: WebhookRow, now: bigint) =>
    retry_at <= now || (holder === null && expires > now),
};

/**
 * Gives each endpoint that is not known a place at the end of the feed, once at the start: an endpoint whose row goes later
 * is not entered again, since a restore may be about to bring it back.
 */
export async function enterEndpoints(
  { sql, write }: Pick<DatabaseFile, 'sql' | 'write'>,
  endpoints: readonly string[],
): Promise<void> {
  const isKnown = statement(sql, 'select 1 from webhooks where endpoint = ?');
  const enter = statement(
    sql,
    `insert into webhooks (endpoint, changed, id)
     select ?, coalesce(changed, 0), coalesce(id, -9223372036854775808)
     from change_feed left join (select changed, id from plants order by changed desc, id desc limit 1) where true
     on conflict (endpoint) do nothing`,
  );
  await write(() => {
    for (const endpoint of endpoints) if (isKnown.get(endpoint) === undefined) enter.run(endpoint);
  });
}

/**
 * The table `webhooks`. Leases expire by the clock of this machine. Each run of `take` has a new holder, and no holder gets a
 * lease again after its task has ended.
 */
export function webhookPositions(
  { sql, write }: Pick<DatabaseFile, 'sql' | 'write'>,
  endpoints: readonly string[],
): KeepPositions {
  const select = statement<WebhookRow>(sql, 'select * from webhooks where endpoint = ?');
  const hold = statement(sql, 'update webhooks set holder = ?, expires = ?, retry_at = 0 where endpoint = ?');
  // From another position, the file was set back. From the new one, it is repeated.
  const move = statement(
    sql,
    `update webhooks set changed = ?1, id = ?2, ${ROW.noFailure}
     where endpoint = ?3 and holder = ?4 and (changed, id) in (values (?5, ?6), (?1, ?2))`,
  );
  const fail = statement(
    sql,
    `update webhooks set holder = null, expires = ?1, failures = ?2, failing_since = coalesce(failing_since, ?1),
       failing_changed = ?3, failing_id = ?4, reason = ?5, retry_at = ?6, parked = ?7 where endpoint = ?8 and holder = ?9`,
  );
  const release = statement(sql, 'update webhooks set holder = null where endpoint = ? and holder = ?');

  function takeOne(endpoint: string, mine: Lease | undefined, fresh: string, time: bigint): LeaseOutcome | undefined {
    const row = select.get(endpoint);
    if (row === undefined) return 'missing';
    const now = BigInt(Date.now());
    const { changed, id, failures, failing_since: since, expires } = row;
    const isExpired = row.holder === null || expires < now || expires > now + time;
    const isFree = row.parked === 0n && (row.holder === mine?.holder || (ROW.isDue(row, now) && isExpired));
    if (!isFree) return mine && 'lost';
    const position = { changed, id };
    // Where the stored position is behind that of the lease, the file was set back, and a fresh holder begins there.
    const isRenewed = mine !== undefined && row.holder === mine.holder && !isAfter(mine.position, position);
    hold.run(isRenewed ? mine.holder : fresh, now + time, endpoint);
    if (isRenewed) return 'renewed';
    const failingFor = since === null ? 0 : Number(now - since);
    return { endpoint, holder: fresh, position, failures: Number(failures), failingFor };
  }

  return {
    take: (held, milliseconds) =>
      write(() => {
        const fresh = randomUUID();
        const outcomes = new Map<string, LeaseOutcome>();
        for (const endpoint of endpoints) {
          const mine = held.find((lease) => lease.endpoint === endpoint);
          const outcome = takeOne(endpoint, mine, fresh, BigInt(Math.ceil(milliseconds)));
          if (outcome !== undefined) outcomes.set(endpoint, outcome);
        }
        return outcomes;
      }),
    advance: ({ endpoint, holder, position }, { changed, id }) =>
      write(() => move.run(changed, id, endpoint, holder, position.changed, position.id) > 0),
    fail: ({ endpoint, holder }, { failing, reason, failures, retryIn, isParked }) =>
      write(() => {
        const now = BigInt(Date.now());
        const retryAt = now + BigInt(Math.ceil(retryIn));
        const parked = Number(isParked);
        fail.run(now, failures, failing.changed, failing.id, reason, retryAt, parked, endpoint, holder);
      }),
    release: (held) => write(() => void held.map(({ endpoint, holder }) => release.run(endpoint, holder))),
  };
}
