import { isSamePlant, type NewPlant, type Stored } from '../../../domain/plant.ts';
import { changed, type Precondition } from '../../../domain/precondition.ts';
import type { Entry } from '../batch.ts';
import { unavailable } from '../lane.ts';
import type { RowChange } from '../plant-rows.ts';
import type { FailedAttempt } from '../run.ts';
import { splitOnFailure } from '../split-on-failure.ts';

/*
 * The phases of a write: INSERT, a look-up of taken ids, UPDATE of rows that are still at the version that was found. Each
 * function takes the writes of a list on from one phase, given what its statement has returned, and leaves alone the others.
 */

/** What is wanted of an id. */
export interface Write {
  readonly id: bigint;
  readonly target: NewPlant | 'deleted';
  /** Whether the target is stored if nothing has the id. */
  readonly adds: boolean;
  /** Of which plants it takes the place; of none if it is not given. */
  readonly replaces?: Precondition | undefined;
}

/** What was stored under an id before a write, and what is stored after it, durably. */
export interface Written {
  readonly before: Stored;
  readonly after: Stored | 'unmet';
}

/** What a row has, and its version: the transaction that wrote it last, another one after every change. */
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

/** A write on its way. Its entry says when nobody waits for the outcome any more: nothing begins to change a plant later. */
export interface Pending {
  readonly entry: Entry<Write, Written>;
  readonly state: State;
  /** Whether an INSERT of it may have been done, or may yet be, without this process knowing. */
  readonly isUncertain: boolean;
  /** Whether it was inserted a second time: its id was taken, and a purge then freed it. There is no third time. */
  readonly isSecond: boolean;
}

export function begun(entry: Entry<Write, Written>): Pending {
  return { entry, state: { at: entry.item.adds ? 'insert' : 'lookUp' }, isUncertain: false, isSecond: false };
}

/** The phases that have a statement, in their order. */
const PHASES = ['insert', 'lookUp', 'update'] as const;

/** The first phase in which some writes of a list are; undefined if none has a statement now. */
export const phaseOf = (list: readonly Pending[]): (typeof PHASES)[number] | undefined =>
  PHASES.find((phase) => list.some(({ state }) => state.at === phase));

/** The plants to insert: of several with one id the first. */
export function plantsToInsert(list: readonly Pending[]): NewPlant[] {
  const firsts = new Map<bigint, NewPlant>();
  for (const { entry, state } of list) {
    const write = entry.item;
    if (state.at === 'insert' && write.target !== 'deleted' && !firsts.has(write.id))
      firsts.set(write.id, write.target);
  }
  return [...firsts.values()];
}

/** The first write that adds an id that was free has created its plant, whatever has become of that since. */
export function afterInsert(list: readonly Pending[], inserted: ReadonlySet<bigint>): Pending[] {
  const left = new Set(inserted);
  return list.map((one) => {
    const { id, target } = one.entry.item;
    if (one.state.at !== 'insert') return one;
    return left.delete(id) ? done(one, { before: undefined, after: target }) : { ...one, state: { at: 'lookUp' } };
  });
}

/** After an INSERT whose response was lost. */
export function afterLostInsert(list: readonly Pending[]): Pending[] {
  return list.map((one) => (one.state.at === 'insert' ? { ...one, isUncertain: true } : one));
}

/** Several writes of one plant take effect in their order. */
export function afterLookUp(list: readonly Pending[], found: ReadonlyMap<bigint, FoundRow>, now: number): Pending[] {
  const contents = new Map<bigint, NewPlant | 'deleted'>();
  return list.map((one) => {
    const { entry, state, isUncertain, isSecond } = one;
    const { id, target, adds, replaces } = entry.item;
    if (state.at !== 'lookUp') return one;
    const row = found.get(id);
    if (isUncertain && row !== undefined) {
      // It comes before changes of its list. Whoever holds the id may have replaced the very plant that a lost INSERT stored.
      const isThere = isSamePlant(row.stored, target);
      return isThere ? done(one, { before: row.stored, after: row.stored }) : failed(one, unavailable(UNKNOWN));
    }
    // One that nobody waits for any more does nothing: what was found may be a later change, acknowledged since.
    if (now >= entry.until) return failed(one, unavailable(OVERDUE));
    if (row === undefined) {
      if (!adds) return done(one, { before: undefined, after: undefined });
      if (isSecond) return failed(one, unavailable(`plant ${id} ${NOT_STORED}`));
      return { ...one, state: { at: 'insert' }, isSecond: true };
    }
    const before = contents.get(id) ?? row.stored;
    const after = replaces === undefined ? before : changed(before, target, replaces);
    if (after !== 'unmet' && !isSamePlant(before, after)) contents.set(id, after);
    const [content, written] = [contents.get(id), { before, after }];
    return content === undefined ? done(one, written) : { ...one, state: { at: 'update', row, content, written } };
  });
}

/** What becomes of the rows that were found; nothing of those that are left as they were. */
export function rowChanges(list: readonly Pending[]): RowChange[] {
  const changes = new Map<bigint, RowChange>();
  for (const { entry, state } of list) {
    if (state.at !== 'update' || state.row.stored === 'deleted') continue;
    changes.set(entry.item.id, { before: state.row.stored, version: state.row.version, after: state.content });
  }
  return [...changes.values()].filter(({ before, after }) => !isSamePlant(before, after));
}

/** @param missed the ids of the rows that were to be updated, and are locked or have another version now */
export function afterUpdate(list: readonly Pending[], missed: ReadonlySet<bigint>): Pending[] {
  return list.map((one) => {
    if (one.state.at !== 'update') return one;
    return missed.has(one.entry.item.id) ? { ...one, state: { at: 'retry' } } : done(one, one.state.written);
  });
}

/** All of them have paused. */
export const afterPause = (list: readonly Pending[], now: number): Pending[] =>
  list.map((one) => (now < one.entry.until ? { ...one, state: { at: 'lookUp' } } : failed(one, unavailable(OVERDUE))));

/**
 * The lists in which one goes on whose statement has failed. The planned content of a row includes the effect of writes that
 * may be in another part now, so the row is looked up again. An UPDATE of unknown outcome is not repeated
 * (docs/adr/0005-unknown-outcomes.md).
 *
 * @returns undefined if no part goes on by itself: the list may be repeated as a whole
 */
export function afterFailure(list: readonly Pending[], attempt: FailedAttempt): Pending[][] | undefined {
  if (attempt.isUncertain && phaseOf(list) === 'update') return [list.map((one) => failed(one, attempt.error))];
  const marked = attempt.isUncertain ? afterLostInsert(list) : list;
  return splitOnFailure(marked, attempt)?.map((part) =>
    part.map((one) => (one.state.at === 'update' ? { ...one, state: { at: 'lookUp' } } : one)),
  );
}

const OVERDUE = 'the plant stayed locked, or kept changing, until the call timed out';
const NOT_STORED = 'was not stored: a trigger or a rule may drop it';
const UNKNOWN = 'a connection was lost, and what is stored now does not show whether its statement ran';

const done = (one: Pending, written: Written): Pending => ({ ...one, state: { at: 'done', written } });
const failed = (one: Pending, error: unknown): Pending => ({ ...one, state: { at: 'failed', error } });
