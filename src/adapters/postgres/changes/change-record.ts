import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { batcher } from '../calls/batcher.ts';
import { statement } from '../calls/statement.ts';
import type { CallStore, StoreCall } from '../calls/store-call.ts';
import type { Database, Tables } from '../database.ts';
import { EPOCH, NEXT, SETTLED } from './change-epoch.ts';
import type { ChangesRow, RecordedRow } from './change-statements.ts';

/** What has to be known of a page. Without `changes` it is the end of the feed, of which nothing was read. */
type RecordedPage = Pick<RecordedRow, 'epoch' | 'next' | 'recorded' | 'may_record' | 'is_synchronous'> &
  Partial<Pick<ChangesRow, 'changes'>>;

/** Milliseconds between the beginnings of two records, each of which is a commit. */
const INTERVAL = 100;

/**
 * Lets positions outlast a promotion. A record is a commit, so whoever finds it after a promotion or a restore also has
 * all that came before it in the WAL: whatever was shown by a page whose snapshot is older than the record's. That the
 * position is older would not do: a change that is lost may have moved a plant from a place that the consumer had yet to
 * read to one behind the page, and the promotion moves it back.
 *
 * @returns a function that reads a page until it may be sent. With a synchronous standby, it resolves once a record of
 * the page is there too, else at once. It rejects as the store's calls do.
 */
export function changeRecord(database: Database, callStore: CallStore) {
  const update = updateRecord(database.sql);
  let earliest = 0;

  /** Resolves to a record that begins after the call. Many share one. */
  const record = batcher<RecordedPage, RecordRow | undefined>({
    async run(pages) {
      earliest = performance.now() + INTERVAL;
      const { rows } = await database.sql.executeQuery(update({}));
      return pages.map(() => rows[0]);
    },
    gather: () => delay(Math.max(0, earliest - performance.now())),
    maxItems: Number.MAX_SAFE_INTEGER,
    maxRunning: 1,
  });

  async function maySend(page: RecordedPage): Promise<boolean> {
    const { epoch, next, recorded, changes, may_record, is_synchronous } = page;
    const isNew = recorded === null;
    if (!may_record || (!isNew && (changes === null || recorded >= next))) return true;
    const isRecorded = callStore(async (call) => {
      for (;;) {
        const made = await record(page, call);
        if (made?.epoch !== epoch) return false;
        if (made.recorded >= next) return true;
      }
    });
    if (isNew || is_synchronous) return isRecorded;
    // Without it, the position does not outlast a promotion, and that is all.
    isRecorded.catch(() => {});
    return true;
  }

  return async <Page extends RecordedPage>(read: (call: StoreCall) => Promise<Page>): Promise<Page> => {
    for (;;) {
      const page = await callStore(read);
      if (await maySend(page)) return page;
    }
  };
}

interface RecordRow {
  /** In which it was made. */
  readonly epoch: string;
  /** What snapshots show whose next transaction is not later comes before it. */
  readonly recorded: bigint;
}

/** Its own transaction. */
const OWN = sql`pg_current_xact_id()::text::bigint + shift`;

/*
 * An earlier next transaction is that of an older snapshot. If nothing else is open, nothing but the record itself can
 * make a difference to later snapshots, so that one record is enough while nothing happens.
 */
const COVERED = sql`case when ${SETTLED} = ${OWN} then ${OWN} + 1 else ${NEXT} - 1 end`;

/**
 * Records for the epoch. The first record of a timeline gives it an identity of its own: servers that are promoted apart
 * from each other may give theirs the same number.
 */
function updateRecord(tables: Kysely<Tables>) {
  return statement<object, RecordRow>(() =>
    sql<RecordRow>`
      update change_feed set (store, recorded) = (
        select store, recorded || jsonb_build_object(${EPOCH}, greatest((recorded ->> ${EPOCH})::bigint, ${COVERED}))
        from (
          select case when recorded = '{}' or recorded ? ${EPOCH} then store else gen_random_uuid() end as store
        ) as named
      ) where single = 1
      returning ${EPOCH} as epoch, (recorded ->> ${EPOCH})::bigint as recorded`.compile(tables),
  );
}
