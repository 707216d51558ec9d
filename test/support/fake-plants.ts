import type { Change } from '../../src/application/changes/log.ts';
import type { PlantRange } from '../../src/application/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { addition, isSamePlant, type NewPlant, type Stored } from '../../src/domain/plant.ts';
import { changed, type Precondition } from '../../src/domain/precondition.ts';
import type { UncheckedPlants } from './plants/unchecked-plants.ts';

/** Plants that it lists at once, at most. */
export const BATCH = 2_000;

/** A repository in memory, held to the same contract as the real ones. */
export function fakePlants(stored = new Map<bigint, NewPlant | 'deleted'>()): UncheckedPlants {
  /** The number of the last change of each id, in their order. */
  const numbers = new Map<bigint, number>();
  let last = 0;
  const waiting: (() => void)[] = [];

  function set(id: bigint, value: NewPlant | 'deleted'): void {
    stored.set(id, value);
    numbers.delete(id);
    numbers.set(id, ++last);
    for (const wake of waiting.splice(0)) wake();
  }

  const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');
  const within = ({ from, to, tag, name = '', order }: PlantRange) =>
    [...stored.values()]
      .filter((plant) => plant !== 'deleted')
      .filter((plant) => plant.id >= from && plant.id <= to && (tag === undefined || plant.tag === tag))
      .filter((plant) => folded(plant.name).includes(folded(name)))
      .sort((a, b) => (a.id < b.id === (order !== 'desc') ? -1 : 1));

  function add(plant: NewPlant, replaces: boolean): Stored {
    const before = stored.get(plant.id);
    if (['created', 'changed'].includes(addition(before, plant, replaces))) set(plant.id, plant);
    return before;
  }
  async function change(id: bigint, wanted: NewPlant | 'deleted', precondition: Precondition = {}) {
    const before = stored.get(id);
    const after = before && changed(before, wanted, precondition);
    if (after !== undefined && after !== 'unmet' && !isSamePlant(before, after)) set(id, after);
    return after;
  }

  return {
    add: async (plant) => add(plant, false) ?? 'created',
    find: async (id) => stored.get(id),
    replace: (plant, precondition) => change(plant.id, plant, precondition),
    remove: (id, precondition) => change(id, 'deleted', precondition),
    addAll: async (plants, replaces) => plants.map((plant) => add(plant, replaces)),
    async list(range, count) {
      const all = within(range);
      const plants = all.slice(0, Math.min(count, BATCH));
      return { plants, next: plants.length < all.length ? plants.at(-1)?.id : undefined };
    },
    async count(range, most) {
      const { length } = within(range);
      return { count: Math.min(length, most), isExact: length <= most };
    },
    async tags(after, count) {
      const all = [...stored.values()].flatMap((plant) => (plant === 'deleted' ? [] : (plant.tag ?? [])));
      const utf8 = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
      const isListed = (tag: string) => Buffer.byteLength(tag) <= 800 && (after === undefined || utf8(tag, after) > 0);
      const rest = [...new Set(all)].filter(isListed).sort(utf8);
      const tags = rest.slice(0, count).map((tag) => {
        const found = all.filter((one) => one === tag).length;
        return { tag, count: Math.min(found, 1_000), isExact: found <= 1_000 };
      });
      return { tags, next: rest.length > count ? tags.at(-1)?.tag : undefined };
    },
    async readChanges({ after = '0', limit, wait, signal }) {
      if (after === 'now') return { changes: [], next: `${last}`, atEnd: true };
      if (!/^(0|[1-9]\d*)$/.test(after)) throw new PlantStoreError('unknown_position');
      const read = () => [...numbers].filter(([, number]) => number > Number(after)).slice(0, limit);
      if (read().length === 0 && wait > 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          setTimeout(resolve, wait).unref();
          signal.addEventListener('abort', () => resolve());
        });
      }
      const page = read();
      const changes = page.flatMap(([id]): Change[] => {
        const value = stored.get(id);
        return value === 'deleted' ? [{ id, deleted: true }] : value ? [value] : [];
      });
      const next = `${page.at(-1)?.[1] ?? after}`;
      return { changes, next, atEnd: Number(next) >= last };
    },
  };
}
