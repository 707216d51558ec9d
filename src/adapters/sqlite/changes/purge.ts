import { setTimeout as delay } from 'node:timers/promises';
import type { PurgeSelection } from '../../../application/maintenance.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';

/** Rows that a transaction deletes, so that the service waits for some milliseconds only. */
const DELETED = 500;

/** Rows that are looked at in a part. */
const SCANNED = 20_000;

/** Milliseconds between two transactions, in which the service writes. */
const PAUSE = 20;

/** See `purge` of `Maintenance`. */
export function plantPurge({ sql, read, write }: Pick<DatabaseFile, 'sql' | 'read' | 'write'>) {
  const nth = statement<{ id: bigint }>(
    sql,
    `select id from plants where id between ? and ? order by id limit 1 offset ${SCANNED - 1}`,
  );
  const old = 'id between ? and ? and deleted <= ?';
  const count = statement<{ count: bigint }>(sql, `select count(*) as count from plants where ${old}`);
  const last = statement<{ changed: bigint; id: bigint }>(
    sql,
    `select changed, id from (select changed, id from plants where ${old} order by id limit ${DELETED})
     order by changed desc, id desc limit 1`,
  );
  const remove = statement(
    sql,
    `delete from plants where id in (select id from plants where ${old} order by id limit ${DELETED})`,
  );
  const note = statement(
    sql,
    `update change_feed set purged_changed = ?1, purged_id = ?2 where (?1, ?2) > (purged_changed, purged_id)`,
  );

  /** Deletes the first ones. @returns how many */
  function removeSome(from: bigint, to: bigint, before: bigint): number {
    const newest = last.get(from, to, before);
    if (newest === undefined) return 0;
    note.run(newest.changed, newest.id);
    return remove.run(from, to, before);
  }

  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const before = BigInt(Math.floor(Date.now() - minAge * 1_000));
    const to = id ?? MAX_INT64;
    for (let from = id ?? MIN_INT64; ; ) {
      const end = (await read(() => nth.get(from, to)))?.id ?? to;
      if (isDryRun) yield Number((await read(() => count.get(from, end, before)))?.count);
      else {
        for (let removed = DELETED; removed === DELETED; ) {
          removed = await write(() => removeSome(from, end, before), { isBackground: true });
          yield removed;
          if (removed > 0) await delay(PAUSE);
        }
      }
      if (end === to) return;
      from = end + 1n;
    }
  };
}
