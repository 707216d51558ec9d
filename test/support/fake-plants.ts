import type { Change, Condition, Write, Written } from '../../src/application/ports.ts';
import type { Ports } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { isSamePlant, type NewPlant } from '../../src/domain/plant.ts';
import { batchOf } from './plants/plant-lines.ts';

/** A repository in memory, held to the same contract as the real ones. */
export function fakePlants(stored = new Map<bigint, NewPlant | 'deleted'>()): Ports {
  /** The ids in the order of all changes. */
  const changes: bigint[] = [];
  /** The number of the last change of each. */
  const changed = new Map<bigint, number>();
  const waiting: (() => void)[] = [];

  function set(id: bigint, value: NewPlant | 'deleted'): NewPlant | 'deleted' {
    stored.set(id, value);
    changed.set(id, changes.push(id));
    for (const wake of waiting.splice(0)) wake();
    return value;
  }

  const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');
  const within = ({ from, to, tag, name = '', order }: Parameters<Ports['scan']>[0]) =>
    [...stored.values()]
      .filter((plant) => plant !== 'deleted')
      .filter((plant) => plant.id >= from && plant.id <= to && (tag === undefined || plant.tag === tag))
      .filter((plant) => folded(plant.name).includes(folded(name)))
      .sort((a, b) => (a.id < b.id === (order !== 'desc') ? -1 : 1));

  /** Each plant once, by its last change. */
  function changesAfter(last: number, limit: number): [bigint, NewPlant | 'deleted'][] {
    const found: [bigint, NewPlant | 'deleted'][] = [];
    for (let number = last + 1; number <= changes.length && found.length < limit; number++) {
      const id = changes[number - 1] ?? 0n;
      const value = stored.get(id);
      if (value !== undefined && changed.get(id) === number) found.push([id, value]);
    }
    return found;
  }

  function write({ id, target, adds, replaces }: Write): Written {
    const before = stored.get(id);
    const isChanged = typeof before === 'object' && replaces(before) && !isSamePlant(before, target);
    if (isChanged || (before === undefined && adds)) set(id, target);
    return { before, after: stored.get(id) };
  }
  const always = () => true;
  const change = (id: bigint, target: Write['target'], replaces: Condition = always) =>
    write({ id, target, adds: false, replaces }).after;

  return {
    add: async (plant) => write({ id: plant.id, target: plant, adds: true, replaces: () => false }).before ?? 'created',
    write: async (writes) => writes.map(write),
    find: async (id) => stored.get(id),
    replace: async (plant, condition) => change(plant.id, plant, condition),
    remove: async (id, condition) => change(id, 'deleted', condition),
    async scan(range, count) {
      const all = within(range);
      const plants = all.slice(0, count);
      return batchOf(plants, plants.length === all.length);
    },
    async readTags(after, count) {
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
      if (after === 'now') return { changes: [], next: `${changes.length}`, atEnd: true };
      if (!/^(0|[1-9]\d*)$/.test(after)) throw new PlantStoreError('unknown_position');
      const read = () => changesAfter(Number(after), limit);
      if (read().length === 0 && wait > 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          setTimeout(resolve, wait).unref();
          signal.addEventListener('abort', () => resolve());
        });
      }
      const page = read();
      const states = page.map(([id, value]): Change => (value === 'deleted' ? { id, deleted: true } : value));
      const last = page.at(-1);
      const next = last === undefined ? after : `${changed.get(last[0])}`;
      return { changes: states, next, atEnd: Number(next) >= changes.length };
    },
  };
}
