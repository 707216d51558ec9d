import type { LaneName } from '../../../src/adapters/sql/run.ts';
import { MAX_INT64 } from '../../../src/domain/plant.ts';
import type { UncheckedPlants } from './unchecked-plants.ts';

const range = { from: 0n, to: MAX_INT64 };
const query = { after: undefined, limit: 10, wait: 0, signal: AbortSignal.abort() };

type Reads = Record<string, [lane: LaneName, read: (store: UncheckedPlants) => Promise<unknown>]>;

/** Of each method that reads, with the lane of Postgres in which it takes turns; a new one does not compile without. */
const ofMethods: Record<keyof Omit<UncheckedPlants, 'add' | 'replace' | 'remove' | 'addAll'>, Reads> = {
  find: {
    'a plant': ['reads', (store) => store.find(1n)],
    'a plant that is not there': ['reads', (store) => store.find(2n)],
  },
  list: {
    'a page': ['reads', (store) => store.list(range, 10)],
    'a page that is empty': ['reads', (store) => store.list({ ...range, from: 2n }, 10)],
    'a page of a tag': ['reads', (store) => store.list({ ...range, tag: 'green' }, 10)],
    'a page of a tag that is not there': ['reads', (store) => store.list({ ...range, tag: 'red' }, 10)],
    'a part of a stream': ['backgroundReads', (store) => store.list(range, 2_000)],
    'a part of a search': ['backgroundReads', (store) => store.list({ ...range, name: 'monstera' }, 10)],
  },
  count: { 'a number of plants': ['backgroundReads', (store) => store.count(range, 10)] },
  tags: { 'the tags': ['backgroundReads', (store) => store.tags(undefined, 10)] },
  readChanges: { 'the changes': ['log', (store) => store.readChanges(query)] },
};

/** What a store can be asked for, in each form that its statements have; the plant 1 with the tag `green` may be there. */
export const allReads = Object.values(ofMethods).flatMap((reads) =>
  Object.entries(reads).map(([what, [lane, read]]) => [what, read, lane] as const),
);
