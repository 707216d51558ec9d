import { setTimeout as delay } from 'node:timers/promises';
import { isSamePlant } from '../../../domain/plant.ts';
import type { Session } from '../dialect.ts';
import type { Executor, LaneName, WorkFailure } from '../run.ts';
import * as phases from './phases.ts';
import { statements } from './statements.ts';

type List = readonly phases.Pending[];

/** Calls `take` once it may write, and settles each write of that list. Resolves once the next list may take its place. */
export type WriteList = (take: () => readonly phases.Pending['call'][], lane?: LaneName) => Promise<void>;

/** How many writes go through all phases together. A transaction on SQLite ends only between two such groups. */
const GROUP_WRITES_MAX = 32;

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY_MS = 10;

/**
 * Writes plants in the phases of phases.ts.
 *
 * @param onWrite called after each statement, or transaction, that has written, with the number of new plants
 */
export function plantWriter({ executeWithRetry }: Executor, onWrite: (created: number) => void): WriteList {
  /** Takes a list through one phase and then, alone or in parts, through those that follow. */
  async function write(take: () => List, lane: LaneName, until?: number): Promise<void> {
    const partsAfter = (failure: WorkFailure) => phases.afterFailure(take(), failure, performance.now());
    const outcome = await executeWithRetry(
      lane,
      (session, isUncertain) => advance(session, isUncertain ? phases.afterLostInsert(take()) : take()),
      { until, mayRepeat: (failure) => partsAfter(failure) === undefined },
    );
    const lists =
      'result' in outcome
        ? outcome.result
        : (partsAfter(outcome.failure) ?? [phases.allFailed(take(), outcome.failure.error)]);
    const rest = lists.map((list) => goOn(settle(list), lane));
    // The next list waits for no part.
    if (rest.length === 1) await rest[0];
  }

  async function goOn(list: List, lane: LaneName): Promise<void> {
    if (list.length === 0) return;
    if (phases.phaseOf(list) !== undefined) return write(() => list, lane, list.at(-1)?.call.until);
    void delay(RETRY_DELAY_MS).then(() => goOn(settle(phases.afterPause(list, performance.now())), lane));
  }

  /** Gives its outcome to each write that has one. @returns the others */
  function settle(list: List): List {
    let createdCount = 0;
    let hasWritten = false;
    const others = list.filter(({ call, state }) => {
      if (state.at === 'failed') call.reject(state.error);
      if (state.at !== 'done') return state.at !== 'failed';
      const { before, after } = state.written;
      if (before === undefined && after !== undefined) createdCount++;
      hasWritten ||= after !== 'unmet' && !isSamePlant(before, after);
      call.resolve(state.written);
      return false;
    });
    if (hasWritten) onWrite(createdCount);
    return others;
  }

  return (take, lane = 'writes') => write(() => take().map(phases.begun), lane);
}

/** Executes the statement of the next phase, or a whole transaction. @returns the lists in which the writes continue */
async function advance(session: Session, list: List): Promise<readonly List[]> {
  const phase = phases.phaseOf(list);
  if (phase === undefined) return [list];
  if (session.transaction !== undefined) return [await writeInGroups(session, list, session.transaction.end)];
  const isTooLong = phase === 'update' && session.dialect.updateRow && phases.rowChanges(list).length > 1;
  return isTooLong
    ? [...Map.groupBy(list, ({ call }) => call.item.id).values()]
    : [await statements[phase](session, list)];
}

/** Takes one group of writes after another through all phases, until the time of the transaction is over. */
async function writeInGroups(session: Session, list: List, end: number): Promise<List> {
  const result: phases.Pending[] = [];
  for (let start = 0; start < list.length; start += GROUP_WRITES_MAX) {
    let group: List = list.slice(start, start + GROUP_WRITES_MAX);
    const isOver = start > 0 && performance.now() >= end;
    for (let phase = phases.phaseOf(group); !isOver && phase !== undefined; phase = phases.phaseOf(group)) {
      group = await statements[phase](session, group);
    }
    result.push(...group);
  }
  return result;
}
