import { setTimeout as delay } from 'node:timers/promises';
import { isSamePlant } from '../../../domain/plant.ts';
import type { Session } from '../dialect.ts';
import type { Executor, FailedAttempt, LaneName } from '../run.ts';
import * as phases from './phases.ts';
import { statements } from './statements.ts';

type List = readonly phases.Pending[];

/** Calls `take` once it may write, and settles each write of that list. Resolves once the next list may take its place. */
export type WriteList = (take: () => readonly phases.Pending['entry'][], lane?: LaneName) => Promise<void>;

/** How many writes go through all phases together. A transaction on SQLite ends only between two such groups. */
const TOGETHER = 32;

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY_MS = 10;

/**
 * Writes plants in the phases of phases.ts.
 *
 * @param onWrite called after each statement, or transaction, that has written, with the number of new plants
 */
export function plantWriter({ executeWithRetry }: Executor, onWrite: (created: number) => void): WriteList {
  /** Takes a list from phase to phase, until each of its writes is settled or goes on apart from it. */
  async function finish(take: () => List, lane: LaneName, deadline?: number): Promise<void> {
    for (let list = take, until = deadline; ; ) {
      const current = list;
      const outcome = await executeWithRetry(
        lane,
        (session, isUncertain) => advance(session, isUncertain ? phases.afterLostInsert(current()) : current()),
        { until, mayRepeat: (attempt) => phases.afterFailure(current(), attempt) === undefined },
      );
      const lists = 'result' in outcome ? outcome.result : listsAfter(current(), outcome.failed);
      if (lists.length > 1) {
        for (const part of lists) void finish(() => part, lane, untilOf(part));
        return;
      }
      const left = settle(lists.flat());
      if (left.length === 0) return;
      if (phases.phaseOf(left) === undefined) return void finishLater(left, lane);
      list = () => left;
      until = untilOf(left);
    }
  }

  async function finishLater(list: List, lane: LaneName): Promise<void> {
    await delay(RETRY_DELAY_MS);
    const left = settle(phases.afterPause(list, performance.now()));
    if (left.length > 0) await finish(() => left, lane, untilOf(left));
  }

  /** Gives its outcome to each write that has one. @returns the others */
  function settle(list: List): List {
    const left: phases.Pending[] = [];
    let created = 0;
    let hasWritten = false;
    for (const one of list) {
      const { entry, state } = one;
      if (state.at === 'failed') entry.reject(state.error);
      else if (state.at === 'done') {
        const { before, after } = state.written;
        if (before === undefined && after !== undefined) created++;
        hasWritten ||= after !== 'unmet' && !isSamePlant(before, after);
        entry.resolve(state.written);
      } else left.push(one);
    }
    if (hasWritten) onWrite(created);
    return left;
  }

  return (take, lane = 'writes') => finish(() => take().map(phases.begun), lane);
}

/** When nobody waits for any of the list any more. */
const untilOf = (list: List) => list.at(-1)?.entry.until;

/** Makes the statement of the next phase, or a transaction. @returns the lists in which the list goes on */
async function advance(session: Session, list: List): Promise<readonly List[]> {
  const phase = phases.phaseOf(list);
  if (phase === undefined) return [list];
  if (session.end !== undefined) return [await together(session, list, session.end)];
  const isApart = phase === 'update' && session.dialect.distributed && phases.rowChanges(list).length > 1;
  return isApart
    ? [...Map.groupBy(list, ({ entry }) => entry.item.id).values()]
    : [await statements[phase](session, list)];
}

/** The lists in which one goes on that is not repeated as a whole any more: none if all its writes have failed. */
function listsAfter(list: List, attempt: FailedAttempt): readonly List[] {
  const parts = phases.afterFailure(list, attempt);
  if (parts === undefined) for (const { entry } of list) entry.reject(attempt.error);
  return parts ?? [];
}

/** Takes one group of writes after another through all phases of a transaction, until its time is over. */
async function together(session: Session, list: List, end: number): Promise<List> {
  const after: phases.Pending[] = [];
  for (let start = 0; start < list.length; start += TOGETHER) {
    let some: List = list.slice(start, start + TOGETHER);
    const isOver = start > 0 && performance.now() >= end;
    for (let phase = phases.phaseOf(some); !isOver && phase !== undefined; phase = phases.phaseOf(some)) {
      some = await statements[phase](session, some);
    }
    after.push(...some);
  }
  return after;
}
