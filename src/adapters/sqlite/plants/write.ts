import type { PlantStore, Write, Written } from '../../../application/ports.ts';
import { isSamePlant } from '../../../domain/plant.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { type PlantRow, storedIn } from './columns.ts';

/** A purge of the newest row must not free its number. */
const NEXT = `(select 1 + max(purged_changed, coalesce((select max(changed) from plants), 0)) from change_feed)`;

/** Writes plants, each in a transaction that it may share with others. @param onWrite called once each is durable */
export function plantWriter(
  { sql, write }: Pick<DatabaseFile, 'sql' | 'write'>,
  onWrite: (written: Written) => void,
): PlantStore['write'] {
  const select = statement<PlantRow>(sql, 'select id, name, tag, deleted from plants where id = ?');
  // With the target: without it, a `changed` that is there twice would be passed over, too.
  const insert = statement(
    sql,
    `insert into plants (id, name, tag, changed) values (?, ?, ?, ${NEXT}) on conflict (id) do nothing`,
  );
  const update = statement(sql, `update plants set name = ?, tag = ?, deleted = ?, changed = ${NEXT} where id = ?`);

  function writeNow({ id, target, adds, replaces }: Write): Written {
    if (adds && target !== 'deleted' && insert.run(id, target.name, target.tag ?? null) > 0) {
      return { before: undefined, after: target };
    }
    const row = select.get(id);
    const before = row && storedIn(row);
    if (typeof before !== 'object' || !replaces(before) || isSamePlant(before, target))
      return { before, after: before };
    // A deleted plant leaves a row without content, which keeps its id taken.
    const { name, tag = null } = target === 'deleted' ? { name: '' } : target;
    update.run(name, tag, target === 'deleted' ? Date.now() : null, id);
    return { before, after: target };
  }

  return async (writes, isBackground = false) => {
    const last = writes.at(-1)?.until;
    return writes.map(async (one) => {
      const written = await write(() => writeNow(one), { until: one.until ?? last, isBackground });
      if (!isSamePlant(written.before, written.after)) onWrite(written);
      return written;
    });
  };
}
