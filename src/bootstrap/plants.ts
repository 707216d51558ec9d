import type { BatchOptions } from '../adapters/sql/batch.ts';
import { logReader } from '../adapters/sql/changes/reader.ts';
import type { Executor } from '../adapters/sql/run.ts';
import { sqlStore } from '../adapters/sql/store.ts';
import { type ChangeLog, changeLog } from '../application/changes/log.ts';
import type { LogReader } from '../application/changes/ports.ts';
import type { PlantRepository } from '../application/ports.ts';

interface PlantsOptions extends BatchOptions {
  /** By default, no transaction can hold back the log. */
  readonly reader?: LogReader;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: ((plants: number) => void) | undefined;
}

/** The plants of a database, and the log of their changes, whose readers learn of each write at once. */
export function plantsOn(
  executor: Executor,
  { reader = logReader(executor.run), onInsert, ...options }: PlantsOptions,
): PlantRepository & ChangeLog {
  const log = changeLog(reader);
  function onWrite(createdCount: number): void {
    if (createdCount > 0) onInsert?.(createdCount);
    log.announce();
  }
  return { ...sqlStore(executor, { ...options, onWrite }), ...log };
}
