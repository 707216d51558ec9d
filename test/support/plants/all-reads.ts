import type { PlantStore } from '../../../src/application/ports.ts';
import { MAX_INT64 } from '../../../src/domain/plant.ts';

const range = { from: 0n, to: MAX_INT64 };
const query = { after: undefined, limit: 10, wait: 0, signal: AbortSignal.abort() };

type Reads = Record<string, (store: PlantStore) => Promise<unknown>>;

const found = async (store: PlantStore, id: bigint) => Promise.all(await store.find([id], performance.now() + 1_000));

/** Of each method that reads; a new one does not compile without. */
const ofMethods: Record<keyof Omit<PlantStore, 'write'>, Reads> = {
  find: {
    'a plant': (store) => found(store, 1n),
    'a plant that is not there': (store) => found(store, 2n),
  },
  scan: {
    'a page': (store) => store.scan(range, 10),
    'a page that is empty': (store) => store.scan({ ...range, from: 2n }, 10),
    'a page of a tag': (store) => store.scan({ ...range, tag: 'green' }, 10),
    'a page of a tag that is not there': (store) => store.scan({ ...range, tag: 'red' }, 10),
    'a part of a stream': (store) => store.scan(range, 2_000),
    'a part of a search': (store) => store.scan({ ...range, name: 'monstera' }, 10),
  },
  readTags: { 'the tags': (store) => store.readTags(undefined, 10) },
  readChanges: { 'the changes': (store) => store.readChanges(query) },
};

/** What a store can be asked for, in each form that its statements have; the plant 1 with the tag `green` may be there. */
export const allReads = Object.values(ofMethods).flatMap((reads) => Object.entries(reads));
