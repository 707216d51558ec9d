import { setTimeout as delay } from 'node:timers/promises';
import type { Entry } from '../../sql/batch.ts';
import { partsOf, unlessOneFails } from '../../sql/in-parts.ts';
import type { LaneName, Run } from '../../sql/run.ts';
import type { Database } from '../database.ts';
import { failureOf } from '../failures.ts';

import {
  afterFailure,
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
} from './write-phases.ts';
import { writeStatements } from './write-statements.ts';

interface WriteOptions {
  /** Called after each INSERT with the number of plants that it has created, unless it is none. */
  readonly onInsert: (plants: number) => void;
  /** Called after each UPDATE. */
  readonly onUpdate: () => void;
}

type WriteEntry = Entry<Write, Written>;
type List = readonly (Pending & Pick<WriteEntry, 'resolve' | 'reject'>)[];

/** Settles the writes of a list, and resolves once the next list may take its place. */
export type WriteList = (list: readonly WriteEntry[], lane?: LaneName) => Promise<void>;

/** In which order the phases of a list have their statements. */
const STATEMENTS = ['insert', 'lookUp', 'update'] as const;
type Phase = (typeof STATEMENTS)[number];

/** Milliseconds until a row that another transaction has changed or locked is read again. */
const RETRY_DELAY = 10;

/** Writes plants in the phases of write-phases.ts. Unknown outcomes are treated as docs/adr/0005-unknown-outcomes.md says. */
export function plantWriter(database: Database, run: Run, { onInsert, onUpdate }: WriteOptions): WriteList {
  const { insert, lookUp, update } = writeStatements(database);
  /** It updates one row in a statement. */
  let isOnCitus: boolean | undefined;

  /** The statement of each phase, for the writes that are there. @returns how it takes the list on */
  const statements: Record<Phase, (here: readonly Pending[]) => Promise<(list: List) => List>> = {
    async insert(here) {
      const inserted = await insert(plantsToInsert(here));
      if (inserted.size > 0) onInsert(inserted.size);
      return (list) => afterInsert(list, inserted);
    },
    async lookUp(here) {
      const found = await lookUp(here.map(({ write }) => write.id));
      return (list) => afterLookUp(list, found, performance.now());
    },
    async update(here) {
      const changes = rowChanges(here);
      const missed = new Set(changes.map(({ before }) => before.id));
      if (changes.length > 0) {
        // Also after a failure: perhaps it was done, and its response was lost.
        const updated = await update(changes).finally(onUpdate);
        for (const id of updated) missed.delete(id);
      }
      return (list) => afterUpdate(list, missed);
    },
  };

  /** Takes the writes of a list from phase to phase, until each is settled or goes on apart from the list. */
  async function finish(list: List, lane: LaneName): Promise<void> {
    for (let left = list; left.length > 0; ) {
      const phase = STATEMENTS.find((at) => left.some(({ state }) => state.at === at));
      if (phase === undefined) return void finishLater(left, lane);
      left = unsettled(await advance(left, phase, lane));
    }
  }

  async function finishLater(list: List, lane: LaneName): Promise<void> {
    await delay(RETRY_DELAY);
    await finish(unsettled(afterPause(list, performance.now())), lane);
  }

  /** Makes the statement of a phase. @returns the list after it, without the writes that go on apart */
  async function advance(list: List, phase: Phase, lane: LaneName): Promise<List> {
    const here = list.filter(({ state }) => state.at === phase);
    const until = here.at(-1)?.until;
    let isLost = false;
    function goOnApart(parts: readonly List[]): List {
      for (const part of parts) void finish(part, lane);
      return list.filter(({ state }) => state.at !== phase);
    }
    try {
      if (phase === 'update') {
        isOnCitus ??= await run(lane, database.isDistributed, { until });
        const rows = isOnCitus ? [...Map.groupBy(here, ({ write }) => write.id).values()] : [];
        if (rows.length > 1) return goOnApart(rows);
      }
      const made = await unlessOneFails(here.length, failureOf, (mayRepeat) =>
        run(lane, () => statements[phase](here), {
          until,
          mayRepeat(error) {
            const { isOutcomeUnknown } = failureOf(error);
            isLost ||= isOutcomeUnknown;
            return !(phase === 'update' && isOutcomeUnknown) && mayRepeat(error);
          },
        }),
      );
      const sent = (all: List) => (isLost ? afterLostInsert(all) : all);
      return made === undefined ? goOnApart(partsOf(beforeParts(sent(here)))) : made.result(sent(list));
    } catch (error) {
      return afterFailure(list, phase, error);
    }
  }

  return (list, lane = 'writes') =>
    finish(
      list.map(({ item, until, resolve, reject }) => ({ ...begun(item, until), resolve, reject })),
      lane,
    );
}

/** Gives its outcome to each write that has one. @returns the others */
function unsettled(list: List): List {
  return list.filter(({ state, resolve, reject }) => {
    if (state.at === 'done') resolve(state.written);
    else if (state.at === 'failed') reject(state.error);
    else return true;
    return false;
  });
}
