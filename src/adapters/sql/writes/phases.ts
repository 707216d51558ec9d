import { isSamePlant, type NewPlant, type Stored } from '../../../domain/plant.ts';
import { changed, type Precondition } from '../../../domain/precondition.ts';
import type { Call } from '../batch.ts';
import { OVERDUE, unavailable } from '../lane.ts';
import type { RowChange } from '../plant-rows.ts';
import type { WorkFailure } from '../run.ts';
import { splitOnFailure } from '../split-on-failure.ts';

/*
 * The phases of a write: INSERT, a look-up of taken ids, UPDATE of rows that are still at the version that was found. Each
 * function advances those writes of a list that are in one phase, given the result of its statement.
 */

/** What is wanted of an id. */
export interface Write {
  readonly id: bigint;
  readonly target: NewPlant | 'deleted';
  /** Whether the target is stored if nothing has the id. */
  readonly adds: boolean;
  /** Which plants the target may replace: an addition that excludes any plant replaces none. */
  readonly precondition: Precondition;
}

/** What was stored under an id before a write, and what is stored after it, durably. */
export interface Written {
  readonly before: Stored;
  readonly after: Stored | 'unmet';
}

/** The content of a row, and its version: the number of the transaction that wrote it last. */
interface FoundRow {
  readonly stored: NewPlant | 'deleted';
  readonly version: bigint;
}

type State =
  | { readonly at: 'insert' | 'lookUp' | 'retry' }
  /** `content` is what its row has after this write and those before it in the list. */
  | { readonly at: 'update'; readonly row: FoundRow; readonly content: NewPlant | 'deleted'; readonly written: Written }
  | { readonly at: 'done'; readonly written: Written }
  | { readonly at: 'failed'; readonly error: unknown };

/** A write in progress. It begins no change after the deadline of its call, since nobody waits for the outcome then. */
export interface Pending {
  readonly call: Call<Write, Written>;
  readonly state: State;
  /** Whether an earlier INSERT of it may have succeeded, or may still do so. */
  readonly isUncertain: boolean;
  /** Whether its INSERT is repeated, since a purge has freed the id after the first one. There is no third INSERT. */
  readonly isSecond: boolean;
}

export function begun(call: Call<Write, Written>): Pending {
  return { call, state: { at: call.item.adds ? 'insert' : 'lookUp' }, isUncertain: false, isSecond: false };
}

/** The phases that have a statement, in their order. */
const PHASES = ['insert', 'lookUp', 'update'] as const;

/** The first phase in which some writes of a list are; undefined if none has a statement now. */
export const phaseOf = (list: readonly Pending[]): (typeof PHASES)[number] | undefined =>
  PHASES.find((phase) => list.some(({ state }) => state.at === phase));

/** The plants to insert. Of several with the same id, it is the first one. */
export function plantsToInsert(list: readonly Pending[]): NewPlant[] {
  const firsts = new Map<bigint, NewPlant>();
  for (const { call, state } of list) {
    const { id, target } = call.item;
    if (state.at === 'insert' && target !== 'deleted' && !firsts.has(id)) firsts.set(id, target);
  }
  return [...firsts.values()];
}

/** Of the writes that add the same id, the first one has created its plant if the id was free. */
export function afterInsert(list: readonly Pending[], insertedIds: ReadonlySet<bigint>): Pending[] {
  const newIds = new Set(insertedIds);
  return list.map((write) => {
    const { id, target } = write.call.item;
    if (write.state.at !== 'insert') return write;
    return newIds.delete(id) ? done(write, { before: undefined, after: target }) : at(write, { at: 'lookUp' });
  });
}

/** Continues after an INSERT whose response was lost. */
export const afterLostInsert = (list: readonly Pending[]): Pending[] =>
  list.map((write) => (write.state.at === 'insert' ? { ...write, isUncertain: true } : write));

/** Several writes of one plant take effect in their order. */
export function afterLookUp(list: readonly Pending[], rows: ReadonlyMap<bigint, FoundRow>, now: number): Pending[] {
  const contents = new Map<bigint, NewPlant | 'deleted'>();
  return list.map((write) => {
    const { call, state, isUncertain, isSecond } = write;
    const { id, target, adds, precondition } = call.item;
    if (state.at !== 'lookUp') return write;
    const row = rows.get(id);
    if (isUncertain && row !== undefined) {
      // Creations precede the changes of their list. Another plant may have replaced the one that the lost INSERT stored.
      const written = { before: row.stored, after: row.stored };
      return isSamePlant(row.stored, target) ? done(write, written) : failed(write, UNKNOWN);
    }
    // After its deadline, a write changes nothing: what was found may be a later change that has been acknowledged.
    if (now >= call.until) return failed(write, STILL_LOCKED);
    if (row === undefined) {
      if (!adds) return done(write, { before: undefined, after: undefined });
      if (isSecond) return failed(write, unavailable(`plant ${id} was not stored: a trigger or a rule may drop it`));
      return { ...write, state: { at: 'insert' }, isSecond: true };
    }
    const before = contents.get(id) ?? row.stored;
    const after = changed(before, target, precondition);
    if (after !== 'unmet' && !isSamePlant(before, after)) contents.set(id, after);
    const [content, written] = [contents.get(id), { before, after }];
    return content === undefined ? done(write, written) : at(write, { at: 'update', row, content, written });
  });
}

/** The changes of the rows that were found. A row that stays as it is has none. */
export function rowChanges(list: readonly Pending[]): RowChange[] {
  const changes = new Map<bigint, RowChange>();
  for (const { call, state } of list) {
    if (state.at !== 'update' || state.row.stored === 'deleted') continue;
    changes.set(call.item.id, { before: state.row.stored, version: state.row.version, after: state.content });
  }
  return [...changes.values()].filter(({ before, after }) => !isSamePlant(before, after));
}

/** @param missedIds the ids of the rows that were to be updated, and are locked or have another version now */
export const afterUpdate = (list: readonly Pending[], missedIds: ReadonlySet<bigint>): Pending[] =>
  list.map((write) => {
    if (write.state.at !== 'update') return write;
    return missedIds.has(write.call.item.id) ? at(write, { at: 'retry' }) : done(write, write.state.written);
  });

/** Continues writes that have paused. */
export const afterPause = (list: readonly Pending[], now: number): Pending[] =>
  list.map((write) => (now < write.call.until ? at(write, { at: 'lookUp' }) : failed(write, STILL_LOCKED)));

/**
 * Continues a list whose statement has failed. The planned content of a row includes the effect of writes that may be in
 * another part now, so the row is looked up again. An UPDATE of unknown outcome is not repeated
 * (docs/adr/0005-unknown-outcomes.md).
 *
 * @returns the lists in which its writes continue; undefined if it may be repeated as a whole
 */
export function afterFailure(list: readonly Pending[], failure: WorkFailure, now: number): Pending[][] | undefined {
  const { isUncertain, error } = failure;
  // Writes that arrived while the list waited for its turn have time left.
  if (error === OVERDUE) return [list.map((write) => (now < write.call.until ? write : failed(write, error)))];
  if (isUncertain && phaseOf(list) === 'update') return [allFailed(list, error)];
  return splitOnFailure(isUncertain ? afterLostInsert(list) : list, failure)?.map((part) =>
    part.map((write) => (write.state.at === 'update' ? at(write, { at: 'lookUp' }) : write)),
  );
}

const STILL_LOCKED = unavailable('the plant stayed locked, or kept changing, until the call timed out');
const UNKNOWN = unavailable('a connection was lost, and what is stored now does not show whether its statement ran');

const at = (write: Pending, state: State): Pending => ({ ...write, state });
const done = (write: Pending, written: Written) => at(write, { at: 'done', written });
const failed = (write: Pending, error: unknown) => at(write, { at: 'failed', error });
export const allFailed = (list: readonly Pending[], error: unknown) => list.map((write) => failed(write, error));
