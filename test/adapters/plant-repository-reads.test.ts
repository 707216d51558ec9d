import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rangeAfter } from '../../src/application/list-plants.ts';
import type { Order, PlantRange, Tags } from '../../src/application/ports.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../src/domain/plant.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { readToEnd } from '../support/plants/changes.ts';
import { contentOf } from '../support/plants/plant-lines.ts';
import { implementations } from '../support/plants/plant-repositories.ts';

/* What the ports for reading plants promise, held against every implementation of them. Each test has its own tag. */

const MEBIBYTE = 1024 ** 2;

/** Letters in either case, one by one: a sigma at the end of a word is one in it, too. */
const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');
const isNamed = ({ name }: NewPlant, text: string) => folded(name).includes(folded(text));

/** Texts that JSON escapes, or that could be taken for an end of a text, a record or a line. */
const odd = [
  ...Array.from({ length: 0x1f }, (_, n) => String.fromCharCode(n + 1)),
  ...['\u007F', '\u0085', '\u2028', '\u2029', '\uFEFF', '\uFFFF', '\u{1F33F}', '\u{10FFFF}'],
  ...["'", "''", '{a,b} %s $1 :x ? _% NULL -- /*', '\uFEFFtree', '\r\n', '', ',', 'null', '/', '<'],
  ...['"', '\\', '\\"', '\\\\', '\\n', '\\u0000', '\\u2028'],
  ...[',"tag":null}', '"tag":null}', ',"tag":null}\n{"id":1', '","tag":null}', '\\,"tag":null}', '{"id":-1,"name":"'],
];
/** As long as tags may be. */
const long = ['x'.repeat(200), `${'x'.repeat(199)}y`, '\u{1F33F}'.repeat(200)];

describe.each(implementations)('on %s', (name, open) => {
  const subject = forAllTests(open);
  const plants = forAllTests(async () => subject.instances[0]);

  const addAll = (all: readonly NewPlant[]) => Promise.all(all.map((plant) => plants.add(plant)));

  /** The batches of a range until the one that says that it is the last, of at most so many plants each. */
  async function walk(range: PlantRange, count: number, store = plants): Promise<NewPlant[][]> {
    const batches: NewPlant[][] = [];
    for (let part = range; ; ) {
      const batch = await store.scan(part, count);
      batches.push(contentOf(batch, range.order).plants);
      if (batch.isLast) return batches;
      if (batch.lastId === undefined) throw new Error('an empty batch is not the last one');
      part = rangeAfter(range, batch.lastId);
    }
  }

  test('finds any plant, and reads any range in either order, as from a list, over the whole of int64', async () => {
    const tags = [undefined, 'odd', '', 'even', 'Odd', 'odd ', 'null'];
    const starts = [MIN_INT64, -10n, 2n ** 53n, MAX_INT64 - 76n];
    const all = starts.flatMap((start) =>
      Array.from({ length: 20 }, (_, n) => plant(start + 4n * BigInt(n), tags[n % tags.length])),
    );
    await addAll(all);
    const range = fc.record({
      start: fc.constantFrom(...starts),
      within: fc.tuple(fc.bigInt(0n, 76n), fc.bigInt(0n, 76n)),
      tag: fc.constantFrom(...tags, undefined, undefined, 'none', 'undefined'),
      name: fc.constantFrom(undefined, undefined, 'Plant ', '2', 'T -', 'none'),
      order: fc.constantFrom<Order>('asc', 'desc'),
    });
    const property = fc.asyncProperty(range, fc.integer({ min: 1, max: 25 }), async (drawn, count) => {
      const { start, within, tag, name, order } = drawn;
      const [from, to] = [start + within[0], start + within[1]];
      const found = (order === 'desc' ? all.toReversed() : all)
        .filter((each) => each.id >= from && each.id <= to && (tag === undefined || each.tag === tag))
        .filter((each) => name === undefined || isNamed(each, name));
      const batches = await walk({ from, to, tag, name, order }, count);
      expect(batches.flat()).toEqual(found);
      expect(batches.every(({ length }) => length <= count)).toBe(true);
      expect(await plants.find(from)).toEqual(all.find(({ id }) => id === from));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('finds a text in names, letters in either case, and takes every character of it as it is', async () => {
    const names = [
      'Ficus 100% "a_b"',
      'FICUS \\ {x} %s $1 ?',
      'Sci\nfi cus',
      '\u20AC \u{1F33F} ficu',
      'a',
      '',
      "it's (fi|cus)*",
      'ΚΥΠΑΡΙΣΣΟΣ',
      `ΚΥΠΑΡΙΣ${'\u0301'.repeat(100_000)}${'\u0323'.repeat(100_000)}`,
    ];
    const all = names.map((name, n) => ({ id: 9_000n + BigInt(n), name }));
    await addAll(all);
    const within = { from: 9_000n, to: 9_099n };
    const texts = [...'%_\\"\'\n ', 'ficus', 'FI', '%a', 'A_B', '\u20AC \u{1F33F} F', '(fi|', '$1', '.*', 'ΚΥΠΑΡΙΣ'];
    for (const name of [...texts, ...names.slice(0, 5), 'ficus'.repeat(20)]) {
      const found = (await walk({ ...within, name }, 100)).flat();
      expect([name, found]).toEqual([name, all.filter((each) => isNamed(each, name))]);
    }
  });

  test('a search gives each plant with the text once, among deleted and large ones, whatever the size of its batches', async () => {
    const nameOf = (n: number) =>
      [`Wanted ${n}`, 'other', 'wanted', 'x'.repeat(n % 11 === 0 ? 700_000 : 10)][n % 4] ?? '';
    const all = Array.from({ length: 40 }, (_, n): NewPlant => {
      const tag = n % 3 > 0 ? `tag ${n % 3}` : undefined;
      return { id: 50_000n + BigInt(n), name: nameOf(n), ...(tag !== undefined && { tag }) };
    });
    await addAll(all);
    const [deleted, kept] = [all.filter((_, n) => n % 5 === 0), all.filter((_, n) => n % 5 > 0)];
    for (const { id } of deleted) await plants.remove(id);
    const wanted = kept.filter((each) => isNamed(each, 'wanted'));
    for (const tag of [undefined, 'tag 1']) {
      const tagged = wanted.filter((each) => tag === undefined || each.tag === tag);
      for (const count of [1, 3, 100]) {
        const range = { from: 50_000n, to: 50_099n, name: 'wANTED', tag };
        expect((await walk(range, count)).flat()).toEqual(tagged);
      }
    }
  });

  test('searches to either end of int64, though it looks at no more plants in one part', async () => {
    const count = name === 'the embedded database' ? 1_000n : 2_000n;
    for (const [from, to, order] of [
      [MAX_INT64 - count + 1n, MAX_INT64, 'asc'],
      [MIN_INT64, MIN_INT64 + count - 1n, 'desc'],
    ] as const) {
      await addAll(Array.from({ length: Number(count) }, (_, n) => ({ id: from + BigInt(n), name: 'searched' })));
      expect((await walk({ from, to, order, name: 'nothing like it' }, 2_000)).flat()).toEqual([]);
    }
  });

  test('reads each character and text that JSON, SQL or a reader treats differently, as name and as tag', async () => {
    const texts = [...odd, ...long];
    const all = texts.flatMap((text, n): NewPlant[] => {
      const id = 20_000n + 4n * BigInt(n);
      return [
        { id, name: text },
        { id: id + 1n, name: text, tag: text },
        { id: id + 2n, name: '', tag: `${text}7` },
        { id: id + 3n, name: `${text}-7,` },
      ];
    });
    await addAll(all);
    const range = { from: 20_000n, to: 20_999n };
    expect((await walk(range, 2_000)).flat()).toEqual(all);
    for (const tag of texts) {
      const tagged = all.filter((each) => each.tag === tag);
      expect((await walk({ ...range, tag }, 100)).flat()).toEqual(tagged);
      for (const each of tagged) expect(await plants.find(each.id)).toEqual(each);
    }
  });

  test('gives each tag once in the order of UTF-8, with the number of its plants up to 1,000, in parts of any size', async () => {
    const [store] = (await open()).instances;
    if (name === 'Citus') {
      await expect(store.readTags(undefined, 1)).rejects.toMatchObject({ code: 'tags_unavailable' });
      return;
    }
    const counts: Record<string, number> = {
      '': 2,
      ...Object.fromEntries([...odd, ...long].map((tag) => [tag, 1])),
    };
    Object.assign(counts, { frequent: 1_001, thousand: 1_000, gone: 0 });
    for (let n = 0; n < 40; n++) counts[`small ${n}`] = 1 + (n % 3);
    let id = 0n;
    const all = Object.entries(counts).flatMap(([tag, count]) =>
      Array.from({ length: count }, () => ({ id: id++, name: 'tagged', tag })),
    );
    await Promise.all(all.map((each) => store.add(each)));
    await store.add({ id: id++, name: 'without a tag' });
    await store.add({ id, name: 'deleted', tag: 'gone' });
    await store.remove(id);
    const expected = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([tag, count]) => ({ tag, count: Math.min(count, 1_000), isExact: count <= 1_000 }));
    async function walkTags(count: number, after?: string): Promise<Tags['tags']> {
      const { tags, next } = await store.readTags(after, count);
      expect(tags.length).toBeLessThanOrEqual(count);
      return next === undefined ? tags : [...tags, ...(await walkTags(count, next))];
    }
    const byTag = (a: { tag: string }, b: { tag: string }) => Buffer.compare(Buffer.from(a.tag), Buffer.from(b.tag));
    for (const count of [1, 7, 1_000]) expect(await walkTags(count)).toEqual(expected.sort(byTag));
  });

  test('reads, finds, changes and deletes what earlier versions stored longer, and leaves such a tag out of the others', async () => {
    const [store] = (await open()).instances;
    const longOf = (n: number) =>
      n % 2 ? { name: 'x', tag: 'y'.repeat(3_000 + n) } : { name: `${n}`.repeat(MEBIBYTE), tag: 'short' };
    const all = Array.from({ length: 30 }, (_, n): NewPlant => ({ id: BigInt(n), ...longOf(n) }));
    await Promise.all(all.map((each) => store.add(each)));
    expect((await walk({ from: MIN_INT64, to: MAX_INT64 }, 20, store)).flat()).toEqual(all);
    const named = all.filter((each) => each.name.includes('2222'));
    expect((await walk({ from: MIN_INT64, to: MAX_INT64, name: '2222' }, 20, store)).flat()).toEqual(named);
    if (name !== 'Citus') {
      expect((await store.readTags(undefined, 100)).tags).toEqual([{ tag: 'short', count: 15, isExact: true }]);
      expect((await readToEnd(store)).changes).toHaveLength(30);
    }
    expect(await store.replace({ id: 1n, name: 'short' })).toEqual({ id: 1n, name: 'short' });
    for (const { id } of all) expect([await store.remove(id), await store.find(id)]).toEqual(['deleted', 'deleted']);
  });
});

function plant(id: bigint, tag?: string): NewPlant {
  return { id, name: `plant ${id}`, ...(tag !== undefined && { tag }) };
}
