import { MAX_INT64 } from '../../../src/domain/plant.ts';
import type { UncheckedPlants } from './unchecked-plants.ts';

const range = { from: 0n, to: MAX_INT64 };
const query = { after: undefined, limit: 10, wait: 0, signal: AbortSignal.abort() };

type Reads = Record<string, (store: UncheckedPlants) => Promise<unknown>>;

/** Of each method that reads; a new one does not compile without. */
const ofMethods: Record<keyof Omit<UncheckedPlants, 'add' | 'replace' | 'remove' | 'addAll'>, Reads> = {
  find: {
    'a plant': (store) => store.find(1n),
    'a plant that is not there': (store) => store.find(2n),
  },
  list: {
    'a page': (store) => store.list(range, 10),
    'a page that is empty': (store) => store.list({ ...range, from: 2n }, 10),
    'a page of a tag': (store) => store.list({ ...range, tag: 'green' }, 10),
    'a page of a tag that is not there': (store) => store.list({ ...range, tag: 'red' }, 10),
    'a part of a stream': (store) => store.list(range, 2_000),
    'a part of a search': (store) => store.list({ ...range, name: 'monstera' }, 10),
  },
  count: { 'a number of plants': (store) => store.count(range, 10) },
  tags: { 'the tags': (store) => store.tags(undefined, 10) },
  readChanges: { 'the changes': (store) => store.readChanges(query) },
};

/** What a store can be asked for, in each form that its statements have; the plant 1 with the tag `green` may be there. */
export const allReads = Object.values(ofMethods).flatMap((reads) => Object.entries(reads));
