import type { Change, ChangeLog } from '../../../src/application/changes/log.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import type { ApiClient } from '../api-client.ts';
import { exactJson, linesOf } from './plant-lines.ts';

/* The feed of changes, as a consumer sees it. */

export const deletion = (id: bigint): Change => ({ id, deleted: true });

const never = new AbortController().signal;

/** Reads a page. @param wait milliseconds */
export function readPage(
  feed: Pick<ChangeLog, 'readChanges'>,
  after: string | undefined,
  limit = 10,
  wait = 0,
  signal = never,
) {
  return feed.readChanges({ after, limit, wait, signal });
}

/** Reads from a position until nothing is new. */
export async function readToEnd(
  feed: Pick<ChangeLog, 'readChanges'>,
  after?: string,
  limit = 1_000,
): Promise<{ changes: Change[]; next: string }> {
  const changes: Change[] = [];
  for (let from = after; ; ) {
    const page = await readPage(feed, from, limit);
    from = page.next;
    if (page.changes.length === 0) return { changes, next: from };
    changes.push(...page.changes);
  }
}

/** Plants in the order of their ids, to compare them. */
export function sorted(plants: Iterable<NewPlant>): NewPlant[] {
  return [...plants].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The plants that only one of both has, or has in another state: some of them, as JSON. */
export function differences(one: readonly NewPlant[], other: readonly NewPlant[]): string[] {
  const [these, those] = [new Set(linesOf(one).split('\n')), new Set(linesOf(other).split('\n'))];
  return [...these.symmetricDifference(those)].slice(0, 20);
}

/** A page of the feed; undefined if the position is not valid any more. */
export type ReadPage = (after: string | undefined, limit: number) => Promise<Page | undefined>;
interface Page {
  readonly changes: readonly Change[];
  readonly next: string;
  readonly atEnd: boolean;
}

/** Pages over HTTP. @param wait seconds @throws RangeError at a response that must not be, any other if it is to be repeated */
export function pagesOver(client: () => ApiClient, wait: number): ReadPage {
  return async (after, limit) => {
    const query = new URLSearchParams({
      limit: `${limit}`,
      ...(after !== undefined && { after }),
      ...(wait > 0 && { wait: `${wait}` }),
    });
    const { status, error, body } = await client().send('GET', `/changes?${query}`);
    if (status === 200) return exactJson<Page>(body);
    if (error === 41001) return undefined;
    throw status === 503 ? new Error(body) : new RangeError(`${status}: ${body}`);
  };
}

/** A consumer that keeps a copy of the plants as the documentation says. */
export type Consumer = ReturnType<typeof consumer>;

interface ConsumerState {
  readonly copy: Map<bigint, NewPlant>;
  readonly next: string | undefined;
  /** What the new walk has not brought yet, after a start from the beginning. */
  readonly missing: Set<bigint> | undefined;
}

export function consumer() {
  let state: ConsumerState = { copy: new Map(), next: undefined, missing: undefined };
  let saved = structuredClone(state);
  let restarts = 0;
  return {
    /** Reads a page. @returns whether it was the end */
    async step(read: ReadPage, limit: number): Promise<boolean> {
      const { copy, missing } = state;
      const page = await read(state.next, limit);
      if (page === undefined) {
        restarts++;
        state = { copy, next: undefined, missing: new Set(copy.keys()) };
        return false;
      }
      const { changes, next, atEnd } = page;
      for (const change of changes) {
        missing?.delete(change.id);
        if ('deleted' in change) copy.delete(change.id);
        else copy.set(change.id, change);
      }
      if (atEnd) for (const id of missing ?? []) copy.delete(id);
      state = { copy, next, missing: atEnd ? undefined : missing };
      return atEnd;
    },
    get copy(): ReadonlyMap<bigint, NewPlant> {
      return state.copy;
    },
    /** How often it had to start again. */
    restarts: () => restarts,
    /** Saves the copy and the position. */
    persist() {
      saved = structuredClone(state);
    },
    /** Forgets what it has not saved, as if it were killed. */
    crash() {
      state = structuredClone(saved);
    },
  };
}
