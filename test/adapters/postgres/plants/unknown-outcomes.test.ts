import type { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { observed } from '../../../support/disturbances.ts';
import { eventually, eventuallySucceeds } from '../../../support/eventually.ts';
import { forAllTests } from '../../../support/lifetimes.ts';
import { is } from '../../../support/plants/unchecked-plants.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn, type TestPlants } from '../../../support/test-database.ts';

/* Statements whose response was lost: an answer is definite, or the store is unavailable. */

const plant = (name: string): NewPlant => ({ id: 1n, name });
const named = (name: string) => is(plant(name));
const unavailable = { code: 'store_unavailable' };

let network: TcpProxy;
let database: Database;
/** Behind the network. */
let plants: TestPlants;
/** Another client, not behind it. */
let others: TestPlants;

const server = forAllTests(migratedDatabase);
beforeEach(async () => {
  await server.query('truncate plants');
  others = plantsIn(connect(server.url));
  network = await startTcpProxy(server.url);
  database = connect(network.url);
  plants = plantsIn(database);
});

/** Cuts the connection at the response to the next INSERT, and does the work on its plant before anything else arrives. */
function afterLostInsert(work: () => Promise<unknown>): void {
  let inserting: Socket | undefined;
  let isDone = false;
  async function doWork(): Promise<void> {
    await eventually(async () => (await others.find(1n)) !== undefined);
    await work();
    isDone = true;
    await network.deliverLate();
  }
  network.interfere((sent, client) => {
    if (isDone) return undefined;
    if (inserting === undefined && sent.includes('insert into')) {
      inserting = client;
      void doWork();
    }
    if (inserting === undefined) return undefined;
    return client === inserting ? 'answer' : 'late';
  });
}

/** Holds back the next such statement until `deliverLate`. @returns what resolves once it is held back */
function holdBack(statement: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  network.interfere((sent) => {
    if (isHeld || !sent.includes(statement)) return undefined;
    isHeld = true;
    resolve();
    return 'late';
  });
  return promise;
}

test('an UPDATE that runs late overwrites nothing', async () => {
  await plants.add(plant('v0'));
  holdBack('update plants');
  // Only here a response is waited for that does not come.
  const impatient = plantsIn(connect(network.url, { statementTimeout: 200 }));
  await expect(impatient.replace(plant('v1'))).rejects.toMatchObject(unavailable);
  await others.replace(plant('v2'));
  await others.replace(plant('v0'));
  await network.deliverLate();
  expect(await others.find(1n)).toEqual(plant('v0'));
});

test('a change whose look-up runs late, after the 503, overwrites nothing', async () => {
  await plants.add(plant('v0'));
  // The deadline of statements is later than that of calls, which share a connection.
  const own = connect(network.url, { poolSize: 1 });
  const late = plantsIn(own, { timeout: 200 });
  // On a busy machine a connection is not open in time.
  await eventuallySucceeds(() => late.find(1n));
  const held = holdBack('pg_logical_emit_message');
  const replacing = late.replace(plant('v1'));
  replacing.catch(() => {});
  await held;
  await expect(replacing).rejects.toMatchObject(unavailable);
  await others.replace(plant('v2'));
  await network.deliverLate();
  // What would follow the look-up would be before the second one.
  for (let count = 1; count <= 2; count++) await plantsIn(own).find(1n);
  expect(await others.find(1n)).toEqual(plant('v2'));
});

test.each<[string, () => Promise<unknown>]>([
  ['changed', () => others.replace(plant('another'))],
  ['deleted', () => others.remove(1n)],
])('a creation whose response was lost never conflicts with its own plant, %s since', async (_how, work) => {
  afterLostInsert(work);
  await expect(plants.add(plant('mine'))).rejects.toMatchObject(unavailable);
});

test('an addition whose response was lost does not replace what came after it', async () => {
  afterLostInsert(() => others.replace(plant('another')));
  await expect(plants.addAll([plant('mine')], true)).rejects.toMatchObject(unavailable);
  expect(await others.find(1n)).toEqual(plant('another'));
});

test('a creation that was stored succeeds though the look-up for others failed', async () => {
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
  expect(await Promise.all([first, ...both])).toEqual(['created', 'created', { id: 2n, name: 'taken' }]);
});

describe.each(['half', 'answer'] as const)('if the connection is cut: %s,', (where) => {
  async function cut(text: string, work: () => Promise<unknown>) {
    const done = network.cutNext(text, where);
    const result = await work();
    await done;
    return result;
  }

  test('a creation is done by another attempt', async () => {
    const found = where === 'half' ? 'created' : plant('a');
    expect(await cut('insert into', () => plants.add(plant('a')))).toEqual(found);
    expect(await others.find(1n)).toEqual(plant('a'));
  });

  test.each<[string, () => Promise<unknown>, unknown]>([
    ['a change', () => plants.replace(plant('b')), plant('b')],
    ['a change with a condition', () => plants.replace(plant('b'), named('a')), plant('b')],
    ['a deletion', () => plants.remove(1n), 'deleted'],
    ['a deletion with a condition', () => plants.remove(1n, named('a')), 'deleted'],
  ])('%s is unavailable at once, and then done if its client repeats it', async (_what, work, result) => {
    await plants.add(plant('a'));
    await cut('update plants', () => expect(work()).rejects.toMatchObject(unavailable));
    expect(await work()).toEqual(result);
    expect(await others.find(1n)).toEqual(result);
  });
});

test('a lost statement leaves the outcome of those definite that it cannot change', async () => {
  await plants.add(plant('v0'));
  await plants.replace(plant('v1'));
  const done = network.cutNext('update plants', 'answer');
  // While it runs, the others form a batch.
  const first = plants.remove(9n, named('a'));
  const work = [
    plants.replace(plant('v2')),
    plants.replace({ id: 2n, name: 'never was' }),
    plants.remove(3n, named('a')),
  ];
  const outcomes = await Promise.allSettled(work);
  await Promise.all([first, done]);
  expect(outcomes).toEqual([
    { status: 'rejected', reason: expect.objectContaining(unavailable) },
    { status: 'fulfilled', value: undefined },
    { status: 'fulfilled', value: undefined },
  ]);
});

test('a look-up whose connection is lost leaves every answer definite', async () => {
  await plants.add(plant('v0'));
  for (const [work, found] of [
    [() => plants.replace(plant('v1'), named('another')), 'unmet'],
    [() => plants.remove(1n, named('another')), 'unmet'],
    [() => plants.replace({ id: 2n, name: 'never was' }), undefined],
  ] as const) {
    const done = network.cutNext('pg_logical_emit_message', 'answer');
    expect(await work()).toEqual(found);
    await done;
  }
});
