import { beforeEach, expect, test } from '@jest/globals';
import { storeCalls } from '../../../../src/adapters/postgres/calls/store-call.ts';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { plantLookup } from '../../../../src/adapters/postgres/plants/plant-lookup.ts';
import { plantUpdates } from '../../../../src/adapters/postgres/plants/plant-updates.ts';
import type { PostgresPlants } from '../../../../src/adapters/postgres/postgres-plants.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { observed } from '../../../support/disturbances.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* Statements whose response was lost: an answer is definite, or the store is unavailable. */

const plant = (name: string): NewPlant => ({ id: 1n, name });
const is = (name: string) => (stored: NewPlant) => stored.name === name;
const unavailable = { code: 'store_unavailable' };

let network: TcpProxy;
let database: Database;
/** Behind the network. */
let plants: PostgresPlants;
/** Another client, not behind it. */
let others: PostgresPlants;

beforeEach(async () => {
  const server = await migratedDatabase();
  others = plantsIn(connect(server.url));
  network = await startTcpProxy(server.url);
  database = connect(network.url, { statementTimeout: 200 });
  plants = plantsIn(database);
});

/** Cuts the connection at the response to the next such statement, and does the work before anything is repeated. */
function afterLostResponse(statement: string, work: () => Promise<unknown>): void {
  let isCut = false;
  let done: Promise<unknown> | undefined;
  network.interfere((sent) => {
    if (!isCut && sent.includes(statement)) {
      isCut = true;
      return 'answer';
    }
    if (!isCut || done !== undefined) return undefined;
    done = work().then(() => network.deliverLate());
    return 'late';
  });
}

/** Holds back the next such statement until `deliverLate`. */
function holdBack(statement: string): void {
  let isHeld = false;
  network.interfere((sent) => {
    if (isHeld || !sent.includes(statement)) return undefined;
    isHeld = true;
    return 'late';
  });
}

test.each([
  ['without a condition', undefined],
  ['with one that is met again', is('v0')],
])('an UPDATE that runs late overwrites nothing, %s', async (_how, condition) => {
  await plants.add(plant('v0'));
  holdBack('update "plants"');
  expect(await plants.replace(plant('v1'), condition)).toEqual(plant('v1'));
  await others.replace(plant('v2'));
  await others.replace(plant('v0'));
  await network.deliverLate();
  expect(await others.find(1n)).toEqual(plant('v0'));
});

test('a conditional deletion that runs late deletes nothing', async () => {
  await plants.add(plant('v0'));
  holdBack('update "plants"');
  const removing = plants.remove(1n, is('v0'));
  removing.catch(() => {});
  // As soon as it is held back.
  await others.replace(plant('v1'));
  await expect(removing).rejects.toMatchObject(unavailable);
  await others.replace(plant('v0'));
  await network.deliverLate();
  expect(await others.find(1n)).toEqual(plant('v0'));
});

test.each<[string, () => Promise<unknown>, string | undefined]>([
  ['refused by its own condition', () => others.replace(plant('another'), is('mine')), 'before'],
  ['done twice', () => others.replace(plant('another')), undefined],
  ['told that the plant is deleted', () => others.remove(1n), undefined],
])('a change whose response was lost is not %s', async (_what, work, condition) => {
  await plants.add(plant('before'));
  let theirs: unknown;
  afterLostResponse('update "plants"', async () => {
    theirs = await work();
  });
  const changing = plants.replace(plant('mine'), condition === undefined ? undefined : is(condition));
  await expect(changing).rejects.toMatchObject(unavailable);
  expect(await others.find(1n)).toEqual(theirs);
});

test.each<[string, () => Promise<unknown>]>([
  ['changed', () => others.replace(plant('another'))],
  ['deleted', () => others.remove(1n)],
])(
  'a creation whose response was lost is not told that its own plant, %s since, is another one',
  async (_how, work) => {
    afterLostResponse('insert into', work);
    await expect(plants.add(plant('mine'))).rejects.toMatchObject(unavailable);
  },
);

test('a change that may still run late is answered only once it cannot, though its batch leaves the plant as it was', async () => {
  await others.add(plant('x'));
  await others.add({ id: 2n, name: 'of the batch between' });
  const between = Promise.withResolvers<void>();
  let attempts = 0;
  let back: Promise<unknown> | undefined;
  const calls = storeCalls({ schemaReady: () => undefined, timeout: 20_000 });
  const lookUp = plantLookup(database);
  const updates = plantUpdates(
    { ...database, connections: 2, isDistributed: async () => false },
    async (ids) => {
      if (ids.includes(2n)) await between.promise;
      return lookUp(ids);
    },
    (work, settles) =>
      calls((call) => {
        const result = work(call);
        // The second attempt of the first one: by then both it and the change back wait for the batch between.
        if (++attempts === 3) {
          back = updates.replace(plant('x'));
          setImmediate(between.resolve);
        }
        return result;
      }, settles),
    () => {},
  );
  holdBack('update "plants"');
  const changing = updates.replace(plant('y'));
  const neighbour = updates.replace({ id: 2n, name: 'changed' });
  expect(await changing).toEqual(plant('y'));
  expect(await back).toEqual(plant('x'));
  await neighbour;
  await network.deliverLate();
  expect(await others.find(1n)).toEqual(plant('x'));
});

test('a creation that was stored is answered by that, though what shared its statement could not be looked up', async () => {
  await others.add({ id: 2n, name: 'taken' });
  let isBroken = true;
  const disturbed = plantsIn(
    observed(database, async (text) => {
      if (!text.includes('pg_logical_emit_message') || !isBroken) return;
      isBroken = false;
      await others.remove(1n);
      throw Object.assign(new Error('too many connections'), { severity: 'FATAL', code: '53300' });
    }),
  );
  const first = disturbed.add({ id: 9n, name: 'alone' });
  const both = [disturbed.add(plant('mine')), disturbed.add({ id: 2n, name: 'taken' })];
  expect(await Promise.all([first, ...both])).toEqual([
    { id: 9n, name: 'alone' },
    plant('mine'),
    { id: 2n, name: 'taken' },
  ]);
});

test('a deletion whose response was lost is not told that there never was a plant, which it may delete later', async () => {
  holdBack('update "plants"');
  const removing = plants.remove(1n);
  await expect(removing).rejects.toMatchObject(unavailable);
  await others.add(plant('v0'));
  await network.deliverLate();
  expect(await others.find(1n)).toBe('deleted');
});

test('what was lost and is still as it was, or as it should be, is settled by another attempt', async () => {
  for (const where of ['half', 'answer'] as const) {
    const id = where === 'half' ? 10n : 20n;
    const cut = async (text: string, work: () => Promise<unknown>) => {
      const done = network.cutNext(text, where);
      const result = await work();
      await done;
      return result;
    };
    expect(await cut('insert into', () => plants.add({ id, name: 'a' }))).toEqual({ id, name: 'a' });
    expect(await cut('update "plants"', () => plants.replace({ id, name: 'b' }, is('a')))).toEqual({ id, name: 'b' });
    expect(await cut('update "plants"', () => plants.remove(id, is('b')))).toBe('deleted');
    expect(await others.find(id)).toBe('deleted');
    await others.add({ id: id + 1n, name: 'a' });
    expect(await cut('update "plants"', () => plants.remove(id + 1n))).toBe('deleted');
    expect(await others.find(id + 1n)).toBe('deleted');
  }
});

test('a look-up whose connection is lost leaves every answer definite', async () => {
  await plants.add(plant('v0'));
  for (const [work, found] of [
    [() => plants.replace(plant('v1'), is('another')), plant('v0')],
    [() => plants.remove(1n, is('another')), plant('v0')],
    [() => plants.replace({ id: 2n, name: 'never was' }), undefined],
  ] as const) {
    const done = network.cutNext('pg_logical_emit_message', 'answer');
    expect(await work()).toEqual(found);
    await done;
  }
});
