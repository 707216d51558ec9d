import { positionOf, START } from '../../../application/changes/cursor.ts';
import type { LogEnd, LogReader, LogState } from '../../../application/changes/ports.ts';
import type { Position } from '../../../application/ports.ts';
import type { Entry } from '../../../application/webhooks/ports.ts';
import { type PlantRow, storedIn } from '../../sql/plant-rows.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { NEW_IDENTITY } from '../file/schema.ts';

type ChangedRow = PlantRow & { readonly changed: bigint };

interface StateRow extends Omit<LogState, 'settled'> {
  /** The last row; null if there is none. */
  readonly changed: bigint | null;
  readonly id: bigint | null;
}

/** The state of the feed and its last row. */
const STATE = `select store as epoch, purged_changed, purged_id, changed, id,
    1 + max(purged_changed, coalesce(changed, 0)) as next
  from change_feed left join (select changed, id from plants order by changed desc, id desc limit 1)`;

/** Reads the rows in the order of their last changes. */
export function feedReader({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): LogReader {
  const state = statement<StateRow>(sql, STATE);
  const rows = statement<ChangedRow>(
    sql,
    `select id, name, tag, deleted, changed from plants
     where (changed, id) > (?, ?) order by changed, id limit ?`,
  );
  const begin = statement(sql, 'begin');
  const commit = statement(sql, 'commit');

  /** In one snapshot: a purge by another process between two statements would hide a deletion. */
  function inSnapshot<T>(work: () => T): T {
    begin.run();
    try {
      return work();
    } finally {
      // After some failures SQLite has ended it itself.
      if (sql.isTransaction) commit.run();
    }
  }

  function endNow(): LogEnd {
    const { changed, id, ...feed } = state.get() as StateRow;
    return { ...feed, settled: feed.next, position: positionOf(changed, id) ?? START };
  }

  function rowsAfter({ changed, id }: Position, count: number): Entry[] {
    return rows.all(changed, id, count).map((row) => ({ changed: row.changed, id: row.id, stored: storedIn(row) }));
  }

  return {
    part: (after, count) => read(() => inSnapshot(() => ({ end: endNow(), rows: rowsAfter(after, count) }))),
    end: () => read(endNow),
    // One writes at a time.
    holder: async () => undefined,
  };
}

/** Ends all positions of consumers: for a file that was set back to a copy. */
export async function renewFeed({ sql, write }: Pick<DatabaseFile, 'sql' | 'write'>): Promise<void> {
  const renew = statement(sql, `update change_feed set store = ${NEW_IDENTITY}`);
  await write(() => renew.run());
}
