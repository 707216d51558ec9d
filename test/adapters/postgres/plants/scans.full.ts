import { describe, expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { observed } from '../../../support/disturbances.ts';
import { forAllTests } from '../../../support/lifetimes.ts';
import { connect, migratedDatabase, plantsIn, type TestPlants } from '../../../support/test-database.ts';

/* What lists and searches scan, by the plans of their statements on large tables. */

const PLANTS = 300_000;
const PAGE = 20;
/** As many as a stream reads, and a search looks at, at once. */
const PART = 2_000;

const tables: [string, string, string[]][] = [
  ['a hundred tags, scattered', `'tag ' || n % 100`, ['tag 7']],
  ['a hundred tags, clustered', `'tag ' || n / 3000`, ['tag 7']],
  ['two tags, scattered', `'tag ' || n % 2`, ['tag 1']],
  ['one tag', `'tag'`, ['tag']],
  [
    'many rare tags and some frequent ones',
    `case when n % 3 = 0 then 'scattered ' || n % 2 when n < 60000 then 'clustered' when n % 7 > 0 then 'rare ' || n end`,
    ['scattered 1', 'clustered', 'rare 200000', 'none'],
  ],
];

describe.each(tables)('of %s', (_shape, tagOf, tags) => {
  const store = forAllTests(async () => {
    const { url, query } = await migratedDatabase();
    await query('alter table plants set (autovacuum_enabled = off)');
    await query(`insert into plants select n, 'plant ' || n, ${tagOf} from generate_series(1, ${PLANTS}) as n`);
    return { database: connect(url), query };
  });

  const scans = (work: (plants: TestPlants) => Promise<unknown>) => scansOf(store.database, work);

  describe.each(['without statistics', 'with statistics'])('%s', (when) => {
    test('pages share statements that scan what they return, and two plants more for each', async () => {
      if (when === 'with statistics') await store.query('vacuum analyze plants');
      const starts = [0n, 1n, 50_000n, 150_000n, 200_000n];
      const each = tags.flatMap((tag) =>
        starts.flatMap((from) => [
          { from, to: BigInt(PLANTS), tag },
          { from: 1n, to: 250_000n - from, tag, order: 'desc' as const },
        ]),
      );
      const ranges = Array.from({ length: 10 }, () => each).flat();
      let returned = 0;
      const scanned = await scans(async (plants) => {
        const batches = await Promise.all(ranges.map((range) => plants.list(range, PAGE)));
        returned = sum(batches.map((batch) => batch.plants.length));
      });
      expect(returned).toBeGreaterThan(0);
      expect(scanned.length).toBeLessThan(ranges.length / 2);
      expect(sum(scanned)).toBeLessThanOrEqual(returned + 2 * ranges.length);
    });

    test.each([1_000, 249_000])(
      'each statement of a stream or a search behind %i scans some thousand plants',
      async (after) => {
        const ranges = [...tags, undefined].flatMap((tag) =>
          [undefined, 'none'].flatMap((name) => [
            { tag, name, from: BigInt(after) + 1n, to: BigInt(PLANTS) },
            { tag, name, from: 1n, to: BigInt(after), order: 'desc' as const },
          ]),
        );
        for (const range of ranges) {
          const scanned = await scans((plants) => plants.list(range, PART));
          expect(scanned.length).toBeGreaterThan(0);
          // A search looks for its last row first, in the index.
          const most = range.name === undefined ? PART : 2 * PART;
          expect(Math.max(...scanned)).toBeLessThanOrEqual(most + 2);
        }
      },
    );

    test('each statement of the list of tags scans some thousand plants', async () => {
      for (const after of [undefined, 'scattered', 'tag 1']) {
        expect(Math.max(...(await scans((plants) => plants.tags(after, 100))))).toBeLessThanOrEqual(16 * (1_001 + 1));
      }
    });
  });
});

test('the plan of a page from when there were few plants scans no table later', async () => {
  const { directUrl, query } = await migratedDatabase();
  await query('alter table plants set (autovacuum_enabled = off)');
  const grow = (count: number) =>
    query(`insert into plants select n, 'plant ' || n from generate_series(1, ${count}) as n on conflict do nothing`);
  await grow(PAGE);
  await query('vacuum analyze plants');
  const database = connect(directUrl, { poolSize: 1 });
  const run = (text: string) => database.sql.executeQuery(CompiledQuery.raw(text));
  await run('set plan_cache_mode = force_generic_plan');
  await plantsIn(database).list({ from: 1n, to: BigInt(PLANTS) }, PAGE);
  await grow(PLANTS);
  expect(await scannedRows(database, `execute page_asc_all(1000, ${PLANTS}, ${PAGE})`)).toBe(PAGE);
});

test('reads the plant behind 60,000 deleted ones with a few statements of bounded size', async () => {
  const { url, query } = await migratedDatabase();
  await query(`insert into plants (id, name, deleted) select n, '', now() from generate_series(0, 59999) as n`);
  await query(`insert into plants values (60000, 'behind them')`);
  const scanned = await scansOf(connect(url), async (plants) => {
    const found = [{ id: 60_000n, name: 'behind them' }];
    expect(await plants.list({ from: 0n, to: BigInt(PLANTS) }, 1)).toEqual({ plants: found, next: undefined });
  });
  expect(scanned.length).toBeLessThan(10);
  expect(Math.max(...scanned)).toBeLessThan(21_000);
  expect(Math.max(...scanned)).toBeGreaterThan(1_000);
});

/** How many rows each of the statements scans that do the work. */
async function scansOf(database: Database, work: (plants: TestPlants) => Promise<unknown>): Promise<number[]> {
  const numbers: number[] = [];
  const explain = async (text: string, parameters: readonly unknown[]) => {
    if (text.includes('from plants')) numbers.push(await scannedRows(database, text, parameters));
  };
  await work(plantsIn(observed(database, explain)));
  return numbers;
}

/** Rows that a statement reads from the table or an index. What a bitmap has found counts once, not again when it is fetched. */
async function scannedRows({ sql }: Database, text: string, parameters: readonly unknown[] = []): Promise<number> {
  const explained = CompiledQuery.raw(`explain (analyze, timing off) ${text}`, [...parameters]);
  const { rows } = await sql.executeQuery<{ 'QUERY PLAN': string }>(explained);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const found = plan.matchAll(/(?:Seq|Index|Only) Scan .*actual rows=([\d.]+) loops=(\d+)\)((?:\n(?!.*->).*)*)/g);
  return sum(
    [...found].map(([, rows, loops, details = '']) => {
      const removed = details.match(/(?<=Rows Removed by (Filter|Index Recheck): )\d+/g) ?? [];
      return sum([rows, ...removed].map(Number)) * Number(loops);
    }),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
