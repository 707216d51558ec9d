import { setTimeout as delay } from 'node:timers/promises';
import type { Outcomes, PlantStore, Write, Written } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { failureOf, unavailable } from '../failures.ts';
import { eachOf, inParts, split } from '../in-parts.ts';
import type { LaneName, Run } from '../run.ts';
import { planChanges, plantChanger } from './change.ts';
import { plantInserter } from './insert.ts';

interface WriteOptions {
  /** Milliseconds until writes are given up that have no time of their own. */
  readonly timeout: number;
  /** Called after each INSERT with the number of plants that it has created, unless it is none. */
  readonly onInsert: (plants: number) => void;
  /** Called after each UPDATE. */
  readonly onUpdate: () => void;
}

/** What the writes of a list share. */
interface Call {
  readonly lane: LaneName;
  /** When the last of them is given up. */
  readonly until: number;
  /** Whether an INSERT of them may have been done, or may yet be, without this process knowing. */
  isUncertain: boolean;
  /** Whether ids that were taken, and are free now, have had their second INSERT: there is no third. */
  readonly isRepeated: boolean;
}

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY = 10;

/**
 * Writes plants: one INSERT that leaves out the ids that are taken, one look-up of these, and one UPDATE of the rows that
 * are still at the version that was found. An INSERT of unknown outcome is repeated, an UPDATE is not (docs/decisions.md).
 */
export function plantWriter(
  database: Database,
  run: Run,
  { timeout, onInsert, onUpdate }: WriteOptions,
): PlantStore['write'] {
  const insert = plantInserter(database);
  const { lookUp, update } = plantChanger(database);

  const add = (list: readonly Write[], call: Call): Promise<Outcomes<Written>> =>
    inParts(list, async (writes, mayRepeat) => {
      const firsts = new Map<bigint, NewPlant>();
      for (const { id, target, adds } of writes) {
        if (adds && target !== 'deleted' && !firsts.has(id)) firsts.set(id, target);
      }
      if (firsts.size === 0) return change(writes, call);
      const inserted = await run(call.lane, () => insert([...firsts.values()]), {
        until: call.until,
        mayRepeat(error) {
          call.isUncertain ||= failureOf(error).isOutcomeUnknown;
          return mayRepeat(error);
        },
      });
      if (inserted.size > 0) onInsert(inserted.size);
      if (inserted.size === writes.length) return writes.map(created);
      // An inserted plant is not looked up: its write created it, whatever has become of the plant since.
      const others = writes.filter(({ id, adds }) => !(adds && inserted.delete(id)));
      const changed = later(others, () => change(others, call));
      return writes.map((write) => changed.get(write) ?? created(write));
    });

  /** @param known what a look-up has found on Citus, where each row then has a statement of its own */
  const change = (
    list: readonly Write[],
    call: Call,
    known?: Awaited<ReturnType<typeof lookUp>>,
  ): Promise<Outcomes<Written>> =>
    inParts(list, async (writes, mayRepeat) => {
      const { lane, until } = call;
      const lookUpAll = () => lookUp(writes.map(({ id }) => id));
      const looked = known ?? (await run(lane, lookUpAll, { until, mayRepeat }));
      const { found, isOnCitus } = looked;
      // If an INSERT was lost, whoever holds the id may have replaced the very plant that it stored.
      const isLost = ({ id, adds, target }: Write) =>
        adds && call.isUncertain && found.has(id) && !isSamePlant(found.get(id)?.stored, target);
      const { outcomes, rows } = planChanges(
        writes.filter((write) => !isLost(write)),
        found,
      );
      if (rows.length > 1 && isOnCitus) return split(writes, 1, (one) => change(one, call, looked));
      const updating = new Set(rows.map(({ before }) => before.id));
      let isSplit = false;
      const updateAll = () =>
        run(lane, () => update(rows), {
          until,
          mayRepeat(error) {
            if (failureOf(error).isOutcomeUnknown) return false;
            isSplit = !mayRepeat(error);
            return !isSplit;
          },
        }).catch((error: Error) => {
          if (isSplit) throw error;
          return error;
        });
      const updated = rows.length > 0 ? await updateAll() : updating;
      if (rows.length > 0) onUpdate();
      const isLate = ({ id }: Write) => !(updated instanceof Error) && updating.has(id) && !updated.has(id);
      const late = writes.filter((write) => isLate(write) && !isLost(write));
      const changed = later(late, () => changeAgain(late, call));
      // Perhaps a deleted plant held the id, and was purged before the look-up.
      const free = call.isRepeated ? [] : writes.filter((write) => write.adds && isFree(outcomes.get(write)));
      const added = later(free, () => add(free, { ...call, isRepeated: true }));

      return writes.map((write) => {
        if (isLost(write)) return Promise.reject(unavailable(UNKNOWN));
        if (updated instanceof Error && updating.has(write.id)) return Promise.reject(updated);
        const outcome = changed.get(write) ?? added.get(write) ?? outcomes.get(write);
        if (outcome instanceof Promise) return outcome;
        if (outcome === undefined) return Promise.reject(unavailable(OVERDUE));
        const isDropped = write.adds && isFree(outcome);
        return isDropped ? Promise.reject(unavailable(`plant ${write.id} ${NOT_STORED}`)) : outcome;
      });
    });

  async function changeAgain(writes: readonly Write[], call: Call): Promise<Outcomes<Written>> {
    await delay(RETRY_DELAY);
    if (performance.now() < call.until) return change(writes, call);
    throw unavailable(OVERDUE);
  }

  return (writes, isBackground = false) => {
    const until = writes.at(-1)?.until ?? performance.now() + timeout;
    return add(writes, {
      lane: isBackground ? 'backgroundWrites' : 'writes',
      until,
      isUncertain: false,
      isRepeated: false,
    });
  };
}

function created({ target }: Write): Written {
  return { before: undefined, after: target };
}

const OVERDUE = 'the plant stayed locked, or kept changing, until the call timed out';
const NOT_STORED = 'was not stored: a trigger or a rule may drop it';
const UNKNOWN = 'a connection was lost, and what is stored now does not show whether its statement ran';

function isFree(outcome: Written | undefined): boolean {
  return outcome !== undefined && outcome.after === undefined;
}

/** The outcome of each write, once there are any. @param work is left out if there is no write */
function later(writes: readonly Write[], work: () => Promise<Outcomes<Written>>): ReadonlyMap<Write, Promise<Written>> {
  if (writes.length === 0) return new Map();
  const each = eachOf(writes, work());
  return new Map(writes.map((write, index) => [write, each[index] as Promise<Written>]));
}
