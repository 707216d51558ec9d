import { setTimeout as delay } from 'node:timers/promises';
import { isSamePlant } from '../../../domain/plant.ts';
import type { Entry } from '../batch.ts';
import type { Session, SqlDatabase } from '../dialect.ts';
import { partsOf, unlessOneFails } from '../in-parts.ts';
import type { LaneName, Run } from '../run.ts';
import {
  afterInsert,
  afterLookUp,
  afterLostInsert,
  afterPause,
  afterUpdate,
  beforeParts,
  begun,
  type Pending,
  plantsToInsert,
  rowChanges,
  type Write,
  type Written,
} from './phases.ts';
import { insert, lookUp, update } from './statements.ts';

type WriteEntry = Entry<Write, Written>;
type List = readonly (Pending & Pick<WriteEntry, 'resolve' | 'reject'>)[];

/** Calls `take` once it may write, and settles each write of that list. Resolves once the next list may take its place. */
export type WriteList = (take: () => readonly WriteEntry[], lane?: LaneName) => Promise<void>;

/** The statement of each phase, in the order in which a list has them. @returns the list after it */
const STATEMENTS = {
  insert: async (session: Session, list: List) => afterInsert(list, await insert(session, plantsToInsert(list))),
  async lookUp(session: Session, list: List) {
    const found = await lookUp(
      session,
      list.flatMap(({ write, state }) => (state.at === 'lookUp' ? [write.id] : [])),
    );
    return afterLookUp(list, found, performance.now());
  },
  async update(session: Session, list: List) {
    const changes = rowChanges(list);
    const missed = new Set(changes.map(({ before }) => before.id));
    if (changes.length > 0) for (const id of await update(session, changes)) missed.delete(id);
    return afterUpdate(list, missed);
  },
};
type Phase = keyof typeof STATEMENTS;
const PHASES = Object.keys(STATEMENTS) as Phase[];

/** The first one in which some writes of a list are; undefined if none has a statement now. */
const phaseOf = (list: List) => PHASES.find((phase) => list.some(({ state }) => state.at === phase));

/** How many writes go through all phases together. A transaction on SQLite ends only between two such groups. */
const TOGETHER = 32;

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY = 10;

/**
 * Writes plants in the phases of phases.ts. An INSERT of unknown outcome is repeated, an UPDATE is not
 * (docs/adr/0005-unknown-outcomes.md).
 *
 * @param onWrite called after each statement, or transaction, that may have written, with the number of new plants
 */
export function plantWriter(
  run: Run,
  failureOf: SqlDatabase['failureOf'],
  onWrite: (created: number) => void,
): WriteList {
  /** Takes the writes of a list from phase to phase, until each is settled or goes on apart from the list. */
  async function finish(list: List, lane: LaneName, take = () => list): Promise<void> {
    for (let left = settle(await advance(list, lane, take), onWrite); left.length > 0; ) {
      if (phaseOf(left) === undefined) return void finishLater(left, lane);
      left = settle(await advance(left, lane), onWrite);
    }
  }

  async function finishLater(list: List, lane: LaneName): Promise<void> {
    await delay(RETRY_DELAY);
    const left = settle(afterPause(list, performance.now()), onWrite);
    if (left.length > 0) await finish(left, lane);
  }

  /** Makes the statement of the next phase, or a transaction. @returns the list after it, without what goes on apart */
  async function advance(given: List, lane: LaneName, take = () => given): Promise<List> {
    let list = given;
    let phase = phaseOf(list);
    const here = () => list.filter(({ state }) => state.at === phase);

    async function attempt(session: Session): Promise<List | 'apart'> {
      if (list.length === 0) list = take();
      phase = phaseOf(list);
      if (phase === undefined) return list;
      if (session.end !== undefined) return together(session, list, session.end);
      const isApart = phase === 'update' && session.dialect.distributed && rowChanges(list).length > 1;
      return isApart ? 'apart' : STATEMENTS[phase](session, list);
    }
    function mayRepeatAfter(error: unknown): boolean {
      if (!failureOf(error).isOutcomeUnknown) return true;
      list = afterLostInsert(list);
      return phase !== 'update';
    }
    function goOnApart(parts: readonly List[]): List {
      for (const part of parts) void finish(part, lane);
      return list.filter(({ state }) => state.at !== phase);
    }
    try {
      const made = await unlessOneFails(
        () => here().length,
        failureOf,
        (mayRepeat) =>
          run(lane, attempt, {
            until: given.at(-1)?.until,
            mayRepeat: (error) => mayRepeatAfter(error) && mayRepeat(error),
          }),
      );
      if (made === undefined) return goOnApart(partsOf(beforeParts(here())));
      if (made.result !== 'apart') return made.result;
      return goOnApart([...Map.groupBy(here(), ({ write }) => write.id).values()]);
    } catch (error) {
      // Perhaps it was done, and its response was lost.
      if (phase === 'update') onWrite(0);
      if (list.length === 0) for (const { reject } of take()) reject(error);
      for (const { reject } of here()) reject(error);
      return list.filter(({ state }) => state.at !== phase);
    }
  }

  return (take, lane = 'writes') =>
    finish([], lane, () => take().map(({ item, until, ...entry }) => ({ ...begun(item, until), ...entry })));
}

/** Takes one group of writes after another through all phases of a transaction, until its time is over. */
async function together(session: Session, list: List, end: number): Promise<List> {
  const after: List[number][] = [];
  for (let start = 0; start < list.length; start += TOGETHER) {
    let some: List = list.slice(start, start + TOGETHER);
    const isOver = start > 0 && performance.now() >= end;
    for (let phase = phaseOf(some); !isOver && phase !== undefined; phase = phaseOf(some)) {
      some = await STATEMENTS[phase](session, some);
    }
    after.push(...some);
  }
  return after;
}

/** Gives its outcome to each write that has one. @returns the others */
function settle(list: List, onWrite: (created: number) => void): List {
  const left = list.filter(({ state }) => state.at !== 'done' && state.at !== 'failed');
  const written = list.flatMap(({ state }) => (state.at === 'done' ? [state.written] : []));
  if (written.some(({ before, after }) => after !== 'unmet' && !isSamePlant(before, after))) {
    onWrite(written.filter(({ before, after }) => before === undefined && after !== undefined).length);
  }
  for (const { state, resolve, reject } of list) {
    if (state.at === 'done') resolve(state.written);
    else if (state.at === 'failed') reject(state.error);
  }
  return left;
}
