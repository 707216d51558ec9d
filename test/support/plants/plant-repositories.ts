import { plantPurge } from '../../../src/adapters/sql/changes/purge.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { citusDatabase } from '../../../tooling/citus-cluster.ts';
import { embeddedPlants, openEmbedded, plantsInFile } from '../embedded-store.ts';
import { fakePlants } from '../fake-plants.ts';
import { atEnd } from '../lifetimes.ts';
import { connect, migratedDatabase, plantsIn, purgeOn, storedPlants, type TestDatabase } from '../test-database.ts';
import type { UncheckedPlants } from './unchecked-plants.ts';

/** Repositories over the same plants, empty at first, until the end of the test. */
export interface Repositories {
  /** As many as there are instances of the service. */
  readonly instances: readonly [UncheckedPlants, ...UncheckedPlants[]];
  /** Everything that is stored. */
  all(): Promise<NewPlant[]>;
  /** Only of databases. */
  readonly purge?: ReturnType<typeof purgeOn>;
  /** Runs a statement of that database. */
  query?(text: string): unknown;
}

/** Every implementation of the repository ports, or only that on Citus if the tests run on clusters. */
export const implementations: [string, () => Promise<Repositories>][] =
  process.env.TEST_PROJECT === 'distributed'
    ? [['Citus', async () => onServer(await citusDatabase())]]
    : [
        ['the fake', fake],
        ['the embedded database', embedded],
        ['Postgres', () => postgres()],
      ];

async function fake(): Promise<Repositories> {
  const stored = new Map<bigint, NewPlant | 'deleted'>();
  const all = async () => [...stored.values()].filter((plant) => plant !== 'deleted');
  return { instances: [fakePlants(stored)], all };
}

async function embedded(): Promise<Repositories> {
  const file = await openEmbedded();
  const all = () => plantsInFile(file);
  return { instances: [embeddedPlants(file)], all, purge: plantPurge(file.run), query: (text) => file.sql.exec(text) };
}

/** On the tests' server, unless the address of one is given. */
export async function postgres(server?: string): Promise<Repositories> {
  return onServer(await migratedDatabase(server));
}

function onServer({ url, drop, query }: Pick<TestDatabase, 'url' | 'drop' | 'query'>): Repositories {
  atEnd(drop);
  const [one, two] = [connect(url), connect(url)];
  return { instances: [plantsIn(one), plantsIn(two)], all: () => storedPlants(one), purge: purgeOn(one), query };
}
