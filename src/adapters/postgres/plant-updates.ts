import { randomUUID } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import type { ChangePlant } from '../../application/ports.ts';
import type { NewPlant, Stored } from '../../domain/plant.ts';
import { batcher } from './batcher.ts';
import type { IsDistributed } from './citus.ts';
import type { Database } from './database.ts';
import { shouldRetryAlone } from './errors.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { lookUp } from './plant-lookup.ts';
import type { Int8 } from './plant-statements.ts';
import type { CallStore } from './store-call.ts';
import { turns } from './turns.ts';

/** Deletions in one statement. */
const BATCH_IDS = 256;

/** The share of the connections that deletions may use at once, and the same of single updates. */
const SHARE = 0.5;

/**
 * What a deleted plant leaves: a row without content that keeps its id taken. Its tag is a text that no client knows, so
 * that a version without deletions never takes a retried creation for the same plant.
 */
const TOMBSTONE = `name = '', tag = $1, deleted = now(), changed = default`;

/**
 * Changes plants one by one, and deletes them in batches.
 *
 * @param onUpdate called after each statement
 */
export function plantUpdates(
  database: Database,
  callStore: CallStore,
  isDistributed: IsDistributed,
  onUpdate: () => void,
): ChangePlant & { readonly running: () => number } {
  const inTurn = turns(Math.ceil(database.connections * SHARE));

  /** @returns the ids of the rows that it has changed */
  async function update(text: string, parameters: readonly unknown[]): Promise<ReadonlySet<bigint>> {
    const query: CompiledQuery<{ readonly id: Int8 }> = CompiledQuery.raw(text, [...parameters]);
    const { rows } = await database.sql.executeQuery(query);
    onUpdate();
    return new Set(rows.map(({ id }) => BigInt(id)));
  }

  const removeInBatch = batcher<bigint, Stored>({
    async run(ids) {
      const text = (await isDistributed()) ? REMOVE_DISTRIBUTED : REMOVE;
      const removed = await update(text, [randomUUID(), `{${ids.join()}}`]);
      const others = ids.filter((id) => !removed.has(id));
      const found = others.length > 0 ? await lookUp(database, others) : new Map<bigint, Stored>();
      return ids.map((id) => (removed.has(id) ? 'deleted' : found.get(id)));
    },
    shouldRetryAlone,
    maxItems: BATCH_IDS,
    maxSize: BATCH_IDS,
    sizeOf: () => 1,
    maxRunning: Math.ceil(database.connections * SHARE),
  });

  /** Those that wait for one locked row would otherwise take every turn. */
  const oneForEach = oneAtATime<bigint>();

  /** Runs an update of one row, and returns what is stored then. */
  function updateOne(id: bigint, text: string, parameters: readonly unknown[], result: Stored): Promise<Stored> {
    return callStore((call) =>
      oneForEach(id, call, () =>
        inTurn(async () => {
          const changed = await update(`${text} returning id`, parameters);
          return changed.has(id) ? result : (await lookUp(database, [id])).get(id);
        }, call),
      ),
    );
  }

  return {
    replace(plant, expected) {
      const { id } = plant;
      const replacing = [id, ...textsOf(plant)];
      return expected === undefined
        ? updateOne(id, REPLACE, replacing, plant)
        : updateOne(id, `${REPLACE} ${isAs(4)}`, [...replacing, ...textsOf(expected)], plant);
    },
    async remove(id, expected) {
      if (expected === undefined) {
        return callStore((call) => oneForEach(id, call, () => removeInBatch(id, call)));
      }
      if (expected === 'deleted') return callStore(async () => (await lookUp(database, [id])).get(id));
      return updateOne(id, REMOVE_ONE, [randomUUID(), id, ...textsOf(expected)], 'deleted');
    },
    running: removeInBatch.running,
  };
}

/** Writes nothing if the content is the same, so that a retry makes no entry in the feed of changes. */
const REPLACE = `update plants set name = $2, tag = $3, changed = default
  where id = $1 and deleted is null and (name, tag) is distinct from ($2::text, $3::text)`;

/** Locks the rows in the order of their ids: two such statements in different orders would deadlock. */
const REMOVE = `with found as (
    select id from plants where id = any($2::bigint[]) and deleted is null order by id for update
  )
  update plants set ${TOMBSTONE} from found where plants.id = found.id returning plants.id`;

/** Citus has no such lock for several servers. It detects deadlocks, and then the statement is sent again. */
const REMOVE_DISTRIBUTED = `update plants set ${TOMBSTONE}
  where id = any($2::bigint[]) and deleted is null returning id`;

const REMOVE_ONE = `update plants set ${TOMBSTONE} where id = $2 and deleted is null ${isAs(3)}`;

/** @param place the number of the parameter that is the expected name; the expected tag is the next one */
function isAs(place: number): string {
  return `and name = $${place} and tag is not distinct from $${place + 1}::text`;
}

function textsOf({ name, tag }: NewPlant): (string | null)[] {
  return [name, tag ?? null];
}
