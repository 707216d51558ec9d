import { beforeEach, describe, expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import { damagedMigrations } from '../../../../src/adapters/postgres/schema/migration-status.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { decodeCursor, encodeCursor } from '../../../../src/application/changes/cursor.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { lockRows, observed, openTransaction } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forAllTests, forEachTest } from '../../../support/lifetimes.ts';
import { deletion, readPage, readToEnd } from '../../../support/plants/changes.ts';
import { ownPostgres } from '../../../support/servers/own-postgres.ts';
import { connect, migratedDatabase, plantsIn, purgeOn, readinessOf } from '../../../support/test-database.ts';

/** In the statements that read where the feed ends, and in those of them that read a part of it, too. */
const END = 'end_changed';
const PART = 'left join page';

/* What only a database can show of the feed of changes, and purging. The rest is in test/contract. */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
const expired = { code: 'cursor_expired' };
const unusable = {
  code: 'store_unavailable',
  cause: expect.objectContaining({ message: expect.stringContaining('run npm run migrate') }),
};
/** The migration that repairs a feed. */
const REPAIR = '0003_track_changes';

// Of their own: a transaction that other tests leave open would hold back the feed.
const server = forAllTests(() => ownPostgres());

/** A database, and what a test does with it. */
async function newStore() {
  const { url } = await migratedDatabase(server.url);
  const database = connect(url);
  const purge = purgeOn(database);
  const plants = plantsIn(database);
  return {
    url,
    database,
    plants,
    add: (...ids: readonly bigint[]) => Promise.all(ids.map((id) => plants.add(plant(id)))),
    remove: (...ids: readonly bigint[]) => Promise.all(ids.map((id) => plants.remove(id))),
    query: (text: string) => database.sql.executeQuery(CompiledQuery.raw(text)),
    /** @returns how many it has forgotten, or would */
    async purge({ isDryRun = false } = {}): Promise<number> {
      const counts = await Array.fromAsync(purge({ minAge: 0, id: undefined }, isDryRun));
      return counts.reduce((total, count) => total + count, 0);
    },
    /** The end of the feed. */
    end: async () => (await readToEnd(plants)).next,
  };
}

test('refuses the position of another database on the same server, and not its own', async () => {
  const [own, other] = [await newStore(), await newStore()];
  for (const { add } of [own, other]) await add(1n, 2n, 3n);
  const [next, foreign] = [await own.end(), await other.end()];
  await expect(readPage(own.plants, foreign, 10)).rejects.toMatchObject(expired);
  await expect(readPage(other.plants, next, 10)).rejects.toMatchObject(expired);
  expect(await readPage(own.plants, next, 10)).toEqual({ changes: [], next, atEnd: true });
});

describe('on a Postgres', () => {
  const store = forAllTests(newStore);
  beforeEach(async () => {
    // As it was made; to make one for each test would take long.
    await store.query('truncate plants');
    await store.query(`update change_feed set shift = 0, purged_changed = 0, purged_id = 0, recorded = '{}'`);
    await store.query('alter table plants alter column changed set default (pg_current_xact_id()::text::bigint)');
  });

  test('refuses a position that is ahead of the server, as after its files were restored', async () => {
    await store.add(1n);
    const next = decodeCursor(await store.end());
    const ahead = { ...next, position: { ...next.position, changed: next.position.changed + 1_000n } };
    await expect(readPage(store.plants, encodeCursor(ahead), 10)).rejects.toMatchObject(expired);
    // At once, however long it would wait: longer than a test may take.
    await expect(readPage(store.plants, encodeCursor(ahead), 10, 3_600_000)).rejects.toMatchObject(expired);
    expect(await readPage(store.plants, encodeCursor(next), 10)).toMatchObject({ changes: [] });
  });

  test('writes nothing for its readers but the identity, once', async () => {
    const statements: string[] = [];
    const other = await newStore();
    const plants = plantsIn(observed(other.database, (text) => statements.push(text)));
    const pages = await Promise.all(Array.from({ length: 10 }, () => readPage(plants, undefined)));
    const { next } = await readPage(plantsIn(other.database), undefined);
    expect(new Set(pages.map((page) => page.next))).toEqual(new Set([next]));
    statements.length = 0;
    await plants.add(plant(1n));
    await readPage(plants, next, 10, 10_000);
    expect(statements.filter((text) => text.includes('update change_feed'))).toEqual([]);
  });

  describe('under a running service that has read the feed', () => {
    const running = forEachTest(newStore);
    beforeEach(async () => {
      await running.add(1n, 2n, 3n);
      await running.end();
    });
    /** As pg_restore --clean, from a server whose transactions were ahead by so many. */
    async function restore(ahead: number, index = 'plants_by_change'): Promise<void> {
      await running.query('alter table plants rename to dump');
      await running.query('drop index plants_by_change, plants_by_tag, plants_by_tag_text');
      await running.query(`create table plants (id bigint primary key, name text not null, tag text,
        deleted timestamptz, changed bigint not null default (pg_current_xact_id()::text::bigint))`);
      await running.query(`insert into plants select id, name, tag, deleted, changed + ${ahead} from dump`);
      await running.query('create index plants_by_tag on plants (hashtextextended(tag, 0), id) where tag is not null');
      await running.query(
        'create index plants_by_tag_text on plants (tag collate "C", id) where octet_length(tag) <= 800',
      );
      await running.query(`create index ${index} on plants (changed, id)`);
      await running.query('drop table dump');
    }
    /** Expects no page, by whatever way. */
    async function isRefused(): Promise<void> {
      for (const after of [undefined, 'now']) {
        await expect(readPage(running.plants, after)).rejects.toMatchObject(unusable);
      }
      expect(await readinessOf(running.database)).toContain('run npm run migrate');
      expect(await running.plants.find(1n)).toEqual(plant(1n));
    }
    /** Expects all plants once the migration has repaired it. */
    async function isRepaired(): Promise<void> {
      const { plants, add, database } = running;
      expect(await damagedMigrations(database)).toEqual([REPAIR]);
      await add(4n);
      expect(await migrateUp(database)).toEqual([REPAIR]);
      expect(await readinessOf(database)).toBeUndefined();
      const walk = await readToEnd(plants, undefined, 2);
      expect(new Set(walk.changes.map(({ id }) => id))).toEqual(new Set([1n, 2n, 3n, 4n]));
      await add(5n);
      expect((await readToEnd(plants, walk.next)).changes).toEqual([plant(5n)]);
    }

    test('refuses every position of a table that has been restored from a dump since', async () => {
      const next = await running.end();
      await restore(0);
      await expect(readPage(running.plants, next)).rejects.toMatchObject(expired);
      const { changes } = await readToEnd(running.plants);
      expect(changes.toSorted((a, b) => Number(a.id - b.id))).toEqual([plant(1n), plant(2n), plant(3n)]);
    });

    test('a restore from a server that had more transactions ends it until it is repaired', async () => {
      const waiting = readPage(running.plants, await running.end(), 10, 500);
      await restore(1_000_000_000_000);
      await expect(waiting).rejects.toMatchObject(unusable);
      for (const isDryRun of [true, false]) await expect(running.purge({ isDryRun })).rejects.toMatchObject(unusable);
      await isRefused();
      await isRepaired();
      await running.remove(1n);
      expect(await running.purge()).toBe(1);
    });

    test('so does a restore that is not at its end, of which the index is the last', async () => {
      await restore(0, 'not_yet');
      await isRefused();
      await isRepaired();
    });

    test('one of the plants alone, from before such a repair, ends all positions', async () => {
      await running.query('update plants set changed = changed + 1000000000000');
      await migrateUp(running.database);
      await running.add(6n);
      await running.remove(6n);
      await running.query('delete from plants where deleted is not null');
      await restore(0);
      const next = await running.end();
      await isRepaired();
      await expect(readPage(running.plants, next)).rejects.toMatchObject(expired);
    });
  });

  test('needs its table and the row in it: says so, and a migration makes them again', async () => {
    const { database, add, query, plants } = await newStore();
    await add(1n);
    const repairs = [REPAIR, '0004_record_changes'];
    for (const [damage, repaired] of [
      ['delete from change_feed', repairs.slice(0, 1)],
      ['drop table change_feed', repairs],
    ] as const) {
      await query(damage);
      expect(await readinessOf(database)).toContain('run npm run migrate');
      await expect(readPage(plantsIn(database), undefined)).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(await plants.find(1n)).toEqual(plant(1n));
      expect(await damagedMigrations(database)).toEqual(repaired);
      expect(await migrateUp(database)).toEqual(repaired);
      expect(await readinessOf(database)).toBeUndefined();
      expect((await readToEnd(plants)).changes).toEqual([plant(1n)]);
    }
  });

  test('is restored, too, if only what was purged is ahead of the server', async () => {
    await store.add(1n, 2n);
    await store.query('update change_feed set purged_changed = 1000000000000, purged_id = 9');
    expect(await damagedMigrations(store.database)).toEqual([REPAIR]);
    await migrateUp(store.database);
    const began = await readPage(store.plants, undefined, 1);
    await store.remove(2n);
    await store.purge();
    await expect(readPage(store.plants, began.next)).rejects.toMatchObject(expired);
  });

  describe('waiting', () => {
    test.each(['its own instance', 'another instance'])('ends within 100 ms of a commit of %s', async (who) => {
      const writer = who === 'another instance' ? plantsIn(connect(store.url)) : store.plants;
      const taken: number[] = [];
      let after = await store.end();
      for (let id = 1n; id <= 11n; id++) {
        const reading = readPage(store.plants, after, 10, 30_000);
        await writer.add(plant(id));
        const start = performance.now();
        const { changes, next } = await reading;
        taken.push(performance.now() - start);
        expect(changes).toEqual([plant(id)]);
        after = next;
      }
      // A busy machine may delay some.
      expect(taken.toSorted((a, b) => a - b)[5]).toBeLessThan(100);
    });

    test('costs one probe at a time, whoever waits, and then a page for each', async () => {
      await store.add(1n);
      const after = await store.end();
      const statements: string[] = [];
      const plants = plantsIn(observed(store.database, (text) => statements.push(text)));
      const count = (part: string) => statements.filter((text) => text.includes(part)).length;
      const probes = () => count(END) - count(PART);
      const start = performance.now();
      const reading = Array.from({ length: 100 }, () => readPage(plants, after, 10, 60_000));
      // Long enough for each to have probed many times.
      await eventually(() => probes() >= 8);
      expect(count(PART)).toBe(0);
      expect(probes()).toBeLessThanOrEqual((performance.now() - start) / 40 + 2);

      await plants.add(plant(2n));
      for (const page of await Promise.all(reading)) expect(page).toMatchObject({ changes: [plant(2n)], atEnd: true });
      expect(count(PART)).toBe(100);
      const before = probes();
      // Without readers there are none: that of the last one is answered before this add is.
      await plants.add(plant(3n));
      await plants.add(plant(4n));
      expect(probes()).toBe(before);
    });
  });
});

describe('beside transactions that are open on Postgres', () => {
  const store = forEachTest(newStore);
  const writing = (...ids: readonly bigint[]) => lockRows(store.url, ids);
  const late = (id: bigint) => plant(id, 'not committed yet');

  test('wakes those who wait once the one that held back has ended, wherever it wrote', async () => {
    const elsewhere = await openTransaction(server.url, 'select pg_current_xact_id()');
    const start = await store.end();
    await store.add(1n);
    const reading = readPage(store.plants, start, 10, 30_000);
    expect(await readPage(store.plants, start, 10, 200)).toMatchObject({ changes: [] });
    await eventually(async () => (await store.plants.heldBack()) > 0);
    await elsewhere.query('commit');
    expect(await reading).toMatchObject({ changes: [plant(1n)] });
    expect(await store.plants.heldBack()).toBe(0);
  });

  test('purges no deletion that may still be overtaken', async () => {
    await store.add(1n, 2n);
    await store.remove(1n);
    const open = await writing(3n);
    await store.remove(2n);
    expect(await store.purge({ isDryRun: true })).toBe(1);
    expect(await store.purge()).toBe(1);
    const began = await readPage(store.plants, undefined, 1);
    await open.query('commit');
    expect((await readToEnd(store.plants, began.next)).changes).toEqual([late(3n), deletion(2n)]);
    expect(await store.purge()).toBe(1);
  });

  test('brings late what a transaction changes that is older than a repair', async () => {
    await store.add(1n);
    const older = await openTransaction(store.url, 'select pg_current_xact_id()');
    await store.query('update plants set changed = 1000000000000');
    await migrateUp(store.database);
    await store.add(2n);
    const before = await readToEnd(store.plants);
    await older.query(`insert into plants values (3, 'not committed yet')`);
    await older.query('commit');
    const read = [...before.changes, ...(await readToEnd(store.plants, before.next)).changes];
    expect(read).toEqual(expect.arrayContaining([plant(1n), plant(2n), late(3n)]));
  });
});
