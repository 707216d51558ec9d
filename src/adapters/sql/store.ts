import type { PlantRepository } from '../../application/ports.ts';
import type { BatchOptions } from './batch.ts';
import { plantFinder } from './reads/find.ts';
import { readsInParts } from './reads/reads-in-parts.ts';
import { plantScanner } from './reads/scan.ts';
import { tagReader } from './reads/tags.ts';
import type { Executor } from './run.ts';
import { listAdder } from './writes/add-all.ts';
import { groupCommit } from './writes/group-commit.ts';
import { plantWriter } from './writes/write.ts';

interface SqlStoreOptions extends BatchOptions {
  /** Called after each statement, or transaction, that has written, with the number of new plants. */
  readonly onWrite: (created: number) => void;
}

/** Plants in the table `plants`. */
export function sqlStore(executor: Executor, { onWrite, ...options }: SqlStoreOptions): PlantRepository {
  const write = plantWriter(executor, onWrite);
  return {
    ...groupCommit(write, options),
    find: plantFinder(executor, options),
    addAll: listAdder(write, options),
    ...readsInParts(plantScanner(executor, options)),
    tags: tagReader(executor.run),
  };
}
