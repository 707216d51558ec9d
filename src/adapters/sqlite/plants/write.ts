import type { PlantRepository } from '../../../application/ports.ts';
import {
  type Added,
  addition,
  isSamePlant,
  type NewPlant,
  type Stored,
  type ValidPlant,
} from '../../../domain/plant.ts';
import { changed, type Precondition } from '../../../domain/precondition.ts';
import { type PlantRow, storedIn } from '../../sql/plant-rows.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';

/** A purge of the newest row must not free its number. */
const NEXT = `select 1 + max(purged_changed, coalesce((select max(changed) from plants), 0)) as next from change_feed`;

/** Plants of a list that wait for a transaction at once: the time of each begins then. */
const TOGETHER = 256;

interface WriteOptions {
  /** Called once a new plant is durable. */
  readonly onInsert: () => void;
  /** The same of a plant that has replaced another one, or was deleted. */
  readonly onUpdate: () => void;
}

/** What was stored under an id before a write, and what is stored after it. */
interface Written {
  readonly before: Stored;
  readonly after: Stored | 'unmet';
}

/** Writes plants, each in a transaction that it may share with others. */
export function plantWriter(
  { sql, write }: Pick<DatabaseFile, 'sql' | 'write'>,
  { onInsert, onUpdate }: WriteOptions,
): Pick<PlantRepository, 'add' | 'replace' | 'remove' | 'addAll'> {
  const select = statement<PlantRow>(sql, 'select id, name, tag, deleted from plants where id = ?');
  const insert = statement(
    sql,
    'insert into plants (id, name, tag, changed) values (?, ?, ?, ?) on conflict (id) do nothing',
  );
  const update = statement(sql, 'update plants set name = ?, tag = ?, deleted = ?, changed = ? where id = ?');
  const next = statement<{ next: bigint }>(sql, NEXT);
  let number: bigint | undefined;

  /** The number of what this transaction writes, which ends in the same turn of the event loop. */
  function changeNow(): bigint | null {
    if (number !== undefined) return number;
    number = next.get()?.next;
    queueMicrotask(() => (number = undefined));
    return number ?? null;
  }

  function addNow(plant: NewPlant, replaces: Precondition | undefined): Written {
    const { id, name, tag = null } = plant;
    if (insert.run(id, name, tag, changeNow()) > 0) return { before: undefined, after: plant };
    return replaceNow(id, plant, replaces);
  }

  /** @param replaces which plants; undefined for none */
  function replaceNow(id: bigint, wanted: NewPlant | 'deleted', replaces: Precondition | undefined): Written {
    const row = select.get(id);
    const before = row && storedIn(row);
    if (before === undefined || replaces === undefined) return { before, after: before };
    const after = changed(before, wanted, replaces);
    if (after === 'unmet' || isSamePlant(before, after)) return { before, after };
    // A deleted plant leaves a row without content, which keeps its id taken.
    const { name, tag = null } = after === 'deleted' ? { name: '' } : after;
    update.run(name, tag, after === 'deleted' ? Date.now() : null, changeNow(), id);
    return { before, after };
  }

  async function durably(work: () => Written, isBackground = false): Promise<Written> {
    const written = await write(work, { isBackground });
    const { before, after } = written;
    if (after !== 'unmet' && !isSamePlant(before, after)) (before === undefined ? onInsert : onUpdate)();
    return written;
  }

  async function addPart(plants: readonly ValidPlant[], replaces: boolean): Promise<Added[]> {
    const wanted = replaces ? {} : undefined;
    const writes = plants.map((plant) => durably(() => addNow(plant, wanted), true));
    return (await Promise.allSettled(writes)).map((outcome, index) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return addition(outcome.value.before, plants[index] as ValidPlant, replaces);
    });
  }

  const change = async (id: bigint, wanted: NewPlant | 'deleted', precondition: Precondition = {}) =>
    (await durably(() => replaceNow(id, wanted, precondition))).after;

  return {
    add: async (plant) => (await durably(() => addNow(plant, undefined))).before ?? 'created',
    replace: (plant, precondition) => change(plant.id, plant, precondition),
    remove: (id, precondition) => change(id, 'deleted', precondition),
    async addAll(plants, replaces) {
      const outcomes: Added[] = [];
      for (let start = 0; start < plants.length; start += TOGETHER) {
        outcomes.push(...(await addPart(plants.slice(start, start + TOGETHER), replaces)));
      }
      return outcomes;
    },
  };
}
