import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { isAfter } from '../../../application/changes/cursor.ts';
import type { Position } from '../../../application/changes/ports.ts';
import type { PurgeSelection } from '../../../application/maintenance.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { Dialect, Session } from '../dialect.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { requireLog } from './reader.ts';

/** The most rows that a statement scans. */
const SCANNED_ROWS_MAX = 5_000;

/** Rows that a statement deletes, so that the service waits for some milliseconds only. */
const DELETED_ROWS_MAX = 500;

/** The pause between two of them, in which the service writes. */
const PAUSE_MS = 20;

interface Part {
  readonly from: bigint;
  readonly to: bigint;
  /** The latest time of their deletion, as a negative number of milliseconds from now. */
  readonly latest: number;
}

const selectEnd = statement<Part, Pick<Position, 'id'>>(
  (parameter) => sql<Pick<Position, 'id'>>`
    select id from plants where id between ${parameter('from')} and ${parameter('to')}
    order by id limit 1 offset ${sql.lit(SCANNED_ROWS_MAX - 1)}`,
);

/** Leaves out rows whose deletion an open transaction may still precede in the log of changes. */
const isOld = (parameter: (name: keyof Part) => RawBuilder<unknown>, { clock, log }: Dialect) => sql`
  id between ${parameter('from')} and ${parameter('to')} and deleted <= ${clock.later(parameter('latest'))}
  and ${log ? sql`changed < (select ${log.settled} from change_feed where single = 1)` : sql`true`}`;

const countOld = statement<Part, { readonly count: bigint }>(
  (parameter, dialect) => sql<{ readonly count: bigint }>`
    select count(*) as count from plants where ${isOld(parameter, dialect)}`,
);

const selectOld = statement<Part, Position>(
  (parameter, dialect) => sql<Position>`
    select changed, id from plants where ${isOld(parameter, dialect)} order by id limit ${sql.lit(DELETED_ROWS_MAX)}`,
);

const note = statement<Position, never>((parameter) => {
  const position = sql`${parameter('changed')}, ${parameter('id')}`;
  return sql<never>`
    update change_feed set purged_changed = ${parameter('changed')}, purged_id = ${parameter('id')}
    where (purged_changed, purged_id) < (${position})`;
});

const remove = statement<{ ids: readonly bigint[]; last: bigint }, unknown>(
  (parameter, { isOneOf }) => sql`
    delete from plants
    where ${isOneOf(sql`id`, parameter('ids'))} and deleted is not null and changed <= ${parameter('last')} returning id`,
);

/** Rejects after a restore whose rows are ahead of the server's transactions: these rows would never count as settled. */
async function firstPart(session: Session, all: Part): Promise<Part> {
  if (session.dialect.log) await requireLog(session);
  const [last] = await selectEnd(session, all);
  return { ...all, to: last?.id ?? all.to };
}

/**
 * Deletes the first old rows of a part. Before that, it notes the last position among them: followers that have not reached
 * it must start again, even if they would miss nothing.
 */
async function removeSome(session: Session, part: Part) {
  const old = await selectOld(session, part);
  const last = old.toSorted((a, b) => (isAfter(a, b) ? 1 : -1)).at(-1);
  if (last === undefined) return { count: 0, isLast: true };
  if (session.dialect.log) await note(session, { changed: last.changed, id: last.id });
  const rows = await remove(session, { ids: old.map(({ id }) => id), last: last.changed });
  return { count: rows.length, isLast: old.length < DELETED_ROWS_MAX };
}

/** See `purge` of `Maintenance`. */
export function plantPurge(run: Run) {
  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const all = { from: id ?? MIN_INT64, to: id ?? MAX_INT64, latest: -1_000 * minAge };
    for (let from = all.from; ; ) {
      const part = await run('backgroundReads', (session) => firstPart(session, { ...all, from }));
      if (isDryRun) {
        const [row] = await run('backgroundReads', (session) => countOld(session, part));
        yield Number(row?.count);
      } else yield* removeAll(part);
      if (part.to === all.to) return;
      from = part.to + 1n;
    }
  };

  async function* removeAll(part: Part): AsyncIterable<number> {
    for (let isOver = false; !isOver; ) {
      const { count, isLast } = await run('backgroundWrites', (session) => removeSome(session, part));
      yield count;
      if (count > 0) await delay(PAUSE_MS);
      isOver = isLast;
    }
  }
}
