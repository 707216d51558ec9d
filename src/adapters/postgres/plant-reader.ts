import { sql as fragment, type RawBuilder } from 'kysely';
import type { FindPlant, PlantRange, ReadPlants } from '../../application/ports.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { batcher } from './batcher.ts';
import type { Database } from './database.ts';
import type { CallStore } from './store-call.ts';

/** Octets of text in the result of one statement, unless a single plant has more. */
const BATCH_TEXT = 1024 ** 2;

/** Ids in one statement; a plant with more than its share of the text is read by a statement of its own. */
const FIND_IDS = 256;
const FIND_TEXT = BATCH_TEXT / FIND_IDS;

/** The part of the connections that single reads may use at once. */
const FIND_SHARE = 0.5;
/** The same of ranges and large plants. */
const RANGE_SHARE = 0.25;

interface Row {
  readonly id: string | number | bigint;
  readonly name: string | null;
  readonly tag: string | null;
}

/** Reads the table `plants`: single plants in groups, and ranges in the order of ids. */
export function plantReader({ sql, connections }: Database, callStore: CallStore): FindPlant & ReadPlants {
  const rowsOf = async (query: RawBuilder<Row>) => (await query.execute(sql)).rows;

  const findInGroup = batcher<bigint, Row | undefined>({
    async run(ids) {
      const found = new Map((await rowsOf(selectIds(ids))).map((row) => [BigInt(row.id), row]));
      return ids.map((id) => found.get(id));
    },
    shouldRetryAlone: () => false,
    maxItems: FIND_IDS,
    maxSize: FIND_IDS,
    sizeOf: () => 1,
    maxRunning: Math.ceil(connections * FIND_SHARE),
  });

  /** One statement for a range or a large plant at a time, or few: they take long, and others must get their turn. */
  const inTurn = batcher<RawBuilder<Row>, readonly Row[]>({
    run: (queries) => Promise.all(queries.map(rowsOf)),
    shouldRetryAlone: () => false,
    maxItems: 1,
    maxSize: 1,
    sizeOf: () => 1,
    maxRunning: Math.ceil(connections * RANGE_SHARE),
  });

  return {
    find: (id) =>
      callStore(async (call) => {
        let row = await findInGroup(id, call);
        if (row?.name === null) [row] = await inTurn(selectBatch({ from: id, to: id }, 1), call);
        return row && plantOf(row);
      }),
    async readBatch(range, count) {
      // One more than wanted shows whether there are more.
      const rows = await callStore((call) => inTurn(selectBatch(range, count + 1), call));
      const cut = rows.findIndex(({ name }, index) => name === null || index === count);
      const plants = (cut < 0 ? rows : rows.slice(0, cut)).map(plantOf);
      return { plants, isLast: cut < 0 };
    },
    async readIds(range, count) {
      const rows = await callStore((call) => inTurn(selectRange(range, count), call));
      return rows.map(({ id }) => BigInt(id));
    },
  };
}

function plantOf({ id, name, tag }: Row): NewPlant {
  return { id: BigInt(id), name: name ?? '', ...(tag !== null && { tag }) };
}

const size = fragment`octet_length(name) + coalesce(octet_length(tag), 0)`;

/** The records that have these ids; of large ones the id only. */
function selectIds(ids: readonly bigint[]): RawBuilder<Row> {
  return fragment<Row>`
    select id, case when ${size} <= ${fragment.lit(FIND_TEXT)} then name end as name,
      case when ${size} <= ${fragment.lit(FIND_TEXT)} then tag end as tag
    from plants where id = any(${`{${ids.join()}}`}::bigint[])`;
}

/** The records of a range until there is too much text; of those beyond the id only. Long texts beyond are not read. */
function selectBatch(range: PlantRange, count: number): RawBuilder<Row> {
  const fits = fragment`total <= ${fragment.lit(BATCH_TEXT)} or total = size`;
  return fragment<Row>`
    select id, case when ${fits} then name end as name, case when ${fits} then tag end as tag from (
      select *, sum(size) over (order by id rows unbounded preceding) as total
      from (${selectRange(range, count, fragment`, name, tag, ${size} as size`)}) as candidate
    ) as sized order by id`;
}

/** The index of tags has their hashes only: a text may be longer than what a btree takes (migration 0002). */
function selectRange({ from, to, tag }: PlantRange, count: number, columns = fragment``): RawBuilder<Row> {
  const tagged =
    tag === undefined
      ? fragment``
      : fragment`and hashtextextended(tag, 0) = hashtextextended(${tag}, 0) and tag = ${tag}`;
  return fragment<Row>`
    select id${columns} from plants where id between ${from} and ${to} ${tagged} order by id limit ${count}`;
}
