import { expect, test } from '@jest/globals';
import { plantPurge } from '../../../src/adapters/sql/changes/purge.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { forEachTest } from '../../support/lifetimes.ts';
import { readPage, readToEnd } from '../../support/plants/changes.ts';

/* What the feed of changes of SQLite shows beside the tests of every repository. */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
const expired = { code: 'cursor_expired' };

const store = forEachTest(async () => {
  const file = await openEmbedded();
  const plants = embeddedPlants(file);
  return {
    file,
    plants,
    add: (...ids: readonly bigint[]) => Promise.all(ids.map((id) => plants.add(plant(id)))),
  };
});

test('a purge finds them all, however many there are, in transactions of at most 500', async () => {
  const many = Array.from({ length: 1_201 }, (_, n) => BigInt(n));
  await store.add(...many);
  await Promise.all(many.map((id) => store.plants.remove(id)));
  expect(await Array.fromAsync(plantPurge(store.file.run)({ minAge: 0, id: undefined }, false))).toEqual([
    500, 500, 201,
  ]);
});

test('a position of another file, a set-back one or an earlier identity has expired', async () => {
  await store.add(1n);
  const { next } = await readToEnd(store.plants);
  const other = embeddedPlants(await openEmbedded());
  await expect(readPage(other, next)).rejects.toMatchObject(expired);
  await store.file.run('writes', (session) => session.dialect.log.renew(session));
  await expect(readPage(store.plants, next)).rejects.toMatchObject(expired);
});

test('ends waits when the service stops, and at once for those who come later', async () => {
  const { next } = await readToEnd(store.plants);
  const waiting = readPage(store.plants, next, 10, 60_000);
  store.plants.stopWaiting();
  expect(await waiting).toMatchObject({ changes: [], next });
  expect(await readPage(store.plants, next, 10, 60_000)).toMatchObject({ changes: [], next });
});

test('finds names in either normal form, with accents that matter', async () => {
  for (const [n, name] of ['Érable', 'E\u0301rable', 'Erable'].entries())
    await store.plants.add({ id: BigInt(n), name });
  const idsOf = async (name: string) =>
    (await store.plants.list({ from: 0n, to: 9n, name }, 10)).plants.map(({ id }) => id);
  for (const name of ['érab', 'e\u0301RAB']) expect(await idsOf(name)).toEqual([0n, 1n]);
  expect(await idsOf('erab')).toEqual([2n]);
});
