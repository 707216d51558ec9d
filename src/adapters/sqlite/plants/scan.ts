import type { PlantBatch, PlantRange } from '../../../application/ports.ts';
import type { NewPlant } from '../../../domain/plant.ts';
import type { PartReads } from '../../sql/reads-in-parts.ts';
import { folded, statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { type PlantRow, storedIn } from './columns.ts';

/** Rows that one read passes over, deleted ones for example. */
const PASSED_OVER = 5_000;

/** Plants that one read returns: reading and encoding them takes a millisecond or two, during which all others wait. */
const RETURNED = 500;

/** Rows that one read of a search compares, which takes a millisecond. */
const SEARCHED = 1_000;

/** Bytes of a name that SQLite compares; larger ones are compared here, one by one, as long as there is time. */
const SMALL = 512;

/** Milliseconds after which a read ends before the next row, which may be large, or still on the disk. */
const READ_TIME = 10;

/** Reads ranges of plants in the order of their ids. */
export function plantScanner({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PartReads['plants'] {
  const statements = new Map<string, ReturnType<typeof scanStatements>>();

  function statementsFor({ order = 'asc', tag }: PlantRange) {
    const key = `${order} ${tag !== undefined}`;
    const found = statements.get(key) ?? scanStatements(sql, order, tag !== undefined);
    statements.set(key, found);
    return found;
  }

  return (range, count) => {
    const { page, search } = statementsFor(range);
    return read(() => (range.name === undefined ? page(range, count) : search({ ...range, name: range.name }, count)));
  };
}

function scanStatements(sql: DatabaseFile['sql'], order: 'asc' | 'desc', isTagged: boolean) {
  const from = `from plants where id between ? and ? ${isTagged ? 'and tag = ?' : ''}`;
  const byId = `order by id ${order}`;
  const rows = statement<PlantRow>(sql, `select id, name, tag, deleted ${from} ${byId}`);
  const nth = statement<{ id: bigint }>(sql, `select id ${from} ${byId} limit 1 offset ${SEARCHED - 1}`);
  // Most names are ASCII, which SQLite folds faster than a function of ours.
  const matches = statement<PlantRow>(
    sql,
    `select id, name, tag, deleted ${from} and deleted is null and (octet_length(name) > ${SMALL} or instr(
       case when octet_length(name) = length(name) then lower(name) else folded(name) end, ?) > 0) ${byId}`,
  );
  const valuesOf = ({ from, to, tag }: PlantRange) => (tag === undefined ? [from, to] : [from, to, tag]);

  return {
    page(range: PlantRange, count: number): PlantBatch {
      return collect(rows.iterate(...valuesOf(range)), Math.min(count, RETURNED), () => true, undefined);
    },
    search(range: PlantRange & { readonly name: string }, count: number): PlantBatch {
      const found = nth.get(...valuesOf(range))?.id;
      const end = found === (order === 'asc' ? range.to : range.from) ? undefined : found;
      const part = order === 'asc' ? { ...range, to: end ?? range.to } : { ...range, from: end ?? range.from };
      const text = folded(range.name);
      const isFound = ({ name }: NewPlant) => folded(name).includes(text);
      return collect(matches.iterate(...valuesOf(part), text), count, isFound, end);
    },
  };
}

/**
 * Collects the wanted plants until there are enough, enough has been looked at, or the time is over.
 *
 * @param end the last id that was looked at if all rows are read; undefined if the range ends there
 */
function collect(
  rows: Iterable<PlantRow>,
  count: number,
  isWanted: (plant: NewPlant) => boolean,
  end: bigint | undefined,
): PlantBatch {
  const plants: NewPlant[] = [];
  let lastId: bigint | undefined;
  let lookedAt = 0;
  const until = performance.now() + READ_TIME;
  for (const row of rows) {
    const isOver = lookedAt >= PASSED_OVER || (lookedAt > 0 && performance.now() >= until);
    if (isOver) return { plants, next: lastId };
    const stored = storedIn(row);
    if (stored !== 'deleted' && isWanted(stored)) {
      if (plants.length === count) return { plants, next: lastId };
      plants.push(stored);
    }
    lastId = row.id;
    lookedAt++;
  }
  return { plants, next: end };
}
