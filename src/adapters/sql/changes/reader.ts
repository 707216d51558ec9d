import { type RawBuilder, sql } from 'kysely';
import { START } from '../../../application/changes/cursor.ts';
import type { LogEnd, LogEntry, LogReader, Position } from '../../../application/changes/ports.ts';
import { type Dialect, type LogState, logOf, type Session } from '../dialect.ts';
import { type PlantRow, storedIn } from '../plant-rows.ts';
import type { Run } from '../run.ts';
import { type Parameter, type PartResult, partStatement, statement } from '../statement.ts';

/** The state of the log, and the position of its last settled row, which is null if there is none. */
interface EndRow extends LogState {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

type PageRow = PlantRow & Pick<Position, 'changed'>;

/**
 * Checks that the table can be read in the order of its changes.
 *
 * @throws PlantStoreError `changes_unavailable`, or another error that says what to do
 */
export async function requireLog(session: Session): Promise<void> {
  const [state] = await selectState(session, {});
  logOf(session.dialect).requireIntact(state);
}

const selectState = statement<object, LogState>((_, dialect) => logOf(dialect).state);

/** The position in two columns; undefined if they are null. */
export function positionOf(changed: bigint | null, id: bigint | null): Position | undefined {
  return changed === null || id === null ? undefined : { changed, id };
}

const SETTLED = sql`(select settled from log)`;

const lastOf = (settled: RawBuilder<unknown>) => sql`
  select changed as end_changed, id as end_id from plants where changed < ${settled}
  order by changed desc, id desc limit 1`;

/** The last row of the log, if there is one: what is written from now on comes after it. */
export const endOf = ({ log }: Dialect) =>
  lastOf(log ? sql`(select ${log.settled} from change_feed where single = 1)` : sql`null`);

const logAndEnd = (dialect: Dialect) => sql`log as (${logOf(dialect).state}), last as (${lastOf(SETTLED)})`;

type PartValues = Position & { readonly count: number };

const pageAfter = (parameter: Parameter<PartValues>, settled: RawBuilder<unknown>) => sql<PageRow>`
  select changed, id, name, tag, deleted from plants
  where (changed, id) > (${parameter('changed')}, ${parameter('id')}) and changed < ${settled}
  order by changed, id limit ${parameter('count')}`;

/**
 * Reads the first rows after a position, each beside the state. Without a row, its columns are null. The joins with single
 * rows keep the order of the page.
 */
const selectPart = partStatement<PartValues, EndRow & PageRow>(
  (parameter, dialect) => sql<EndRow & PageRow>`
    with ${logAndEnd(dialect)}, page as (${pageAfter(parameter, SETTLED)})
    select * from log left join last on true left join page on true`,
);

const selectPage = partStatement<PartValues, PageRow>((parameter, dialect) =>
  pageAfter(parameter, sql`(select ${logOf(dialect).settled} from change_feed)`),
);

const selectEnd = partStatement<object, EndRow>(
  (_, dialect) => sql<EndRow>`with ${logAndEnd(dialect)} select * from log left join last on true`,
);

/** Names the log unless it has a name, and then repeats the read. */
async function nameAndRead<Row extends EndRow>(session: Session, read: () => Promise<PartResult<Row>>): Promise<Row[]> {
  const log = logOf(session.dialect);
  for (;;) {
    const { rows } = await read();
    log.requireIntact(rows[0]);
    if (!(await log.nameOnce(session, rows[0]))) return rows;
  }
}

/** @param holder finds the transaction that holds back the log, where several run at the same time */
export function logReader(run: Run, holder: LogReader['holder'] = async () => undefined): LogReader {
  const end = async (session: Session) => endIn(await nameAndRead(session, () => selectEnd(session, {})));
  return {
    page: (after, count) =>
      run('log', async (session) => {
        const values = { ...after, count };
        if (!logOf(session.dialect).isStateReadLast) {
          const rows = await nameAndRead(session, () => selectPart(session, values));
          return { end: endIn(rows), rows: entriesIn(rows.filter(({ id }) => id !== null)) };
        }
        // A purge between the two statements invalidates positions, but hides no deletion.
        const { rows } = await selectPage(session, values);
        return { end: await end(session), rows: entriesIn(rows) };
      }),
    end: () => run('log', end),
    holder,
  };
}

function endIn([row]: readonly EndRow[]): LogEnd {
  const { epoch, purged_changed, purged_id, next, settled, end_changed, end_id } = row as EndRow;
  const purged = { changed: purged_changed, id: purged_id };
  return { epoch, purged, next, settled, position: positionOf(end_changed, end_id) ?? START };
}

function entriesIn(rows: readonly PageRow[]): LogEntry[] {
  return rows.map((row) => ({ changed: row.changed, id: row.id, stored: storedIn(row) }));
}
