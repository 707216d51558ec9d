import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../../application/changes/ports.ts';
import { BACKLOG_ROWS_MAX, type KnownEndpoint, type WebhookEndpoints } from '../../../application/maintenance.ts';
import type { EndpointState } from '../../../application/webhooks/ports.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { singleFlight } from '../../../runtime/single-flight.ts';
import { endOf, positionOf } from '../changes/reader.ts';
import type { Columns, Dialect, Session } from '../dialect.ts';
import type { Run } from '../run.ts';
import { columnsOf, type Parameter, statement } from '../statement.ts';
import { type EndpointRow, isDue, noFailure } from './endpoints.ts';

/* The states of endpoints, and what operators do to them. */

interface StateRow extends Pick<EndpointRow, 'endpoint' | 'parked'>, Position {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

/** A SELECT of the states of all endpoints, with more columns. */
const states = <Row extends StateRow>(dialect: Dialect, columns = sql``) => sql<Row>`
  select endpoint, webhooks.changed, webhooks.id, parked, end_changed, end_id ${columns}
  from webhooks left join (${endOf(dialect)}) as last on true order by endpoint`;

const selectStates = statement<object, StateRow>((_, dialect) => states(dialect));

/** Reads how the endpoints are doing, for each scrape of metrics: the next one must not start a slow query again. */
export function endpointStates(run: Run): () => Promise<EndpointState[]> {
  return singleFlight(async () => (await run('reads', (session) => selectStates(session, {}))).map(stateOf));
}

function stateOf({ endpoint, changed, id, end_changed, end_id, parked }: StateRow): EndpointState {
  const position = { changed, id };
  return { endpoint, position, end: positionOf(end_changed, end_id) ?? position, isParked: Boolean(parked) };
}

/** An endpoint with what only operators ask for. */
interface StatusRow extends StateRow, Pick<EndpointRow, 'reason'> {
  readonly failures: number | bigint;
  readonly failing_changed: bigint | null;
  readonly failing_id: bigint | null;
  readonly leased: unknown;
  readonly retry_in: number | bigint;
  readonly backlog: bigint;
}

// What waits is counted row by row.
const selectStatus = statement<object, StatusRow>((_, dialect) => {
  const { clock } = dialect;
  return states<StatusRow>(
    dialect,
    sql`, failures, reason, failing_changed, failing_id, holder is not null and expires > ${clock.now} as leased,
      case when ${isDue(dialect)} then 0 else -${clock.millisecondsSince(sql`retry_at`)} end as retry_in,
      (select count(*) from (
        select 1 from plants where (plants.changed, plants.id) > (webhooks.changed, webhooks.id)
          and (plants.changed, plants.id) <= (end_changed, end_id)
        order by plants.changed, plants.id limit ${sql.lit(BACKLOG_ROWS_MAX)}
      ) as waiting) as backlog`,
  );
});

interface ActionValues {
  readonly endpoint: string;
  readonly fresh: string;
}

type Build<Values, Built> = (parameter: Parameter<Values & ActionValues>, dialect: Dialect) => Built;

/**
 * Takes the lease from its holder. Nobody gets it before it expires, since the holder may begin requests until then. The next
 * holder begins anew.
 */
const action = <Values extends object>(
  where: Build<Values, RawBuilder<unknown>>,
  position: Build<Values, Columns> = () => ({}),
) =>
  statement<Values & ActionValues, Pick<EndpointRow, 'endpoint'>>(
    (parameter, dialect) => sql<Pick<EndpointRow, 'endpoint'>>`
      update webhooks set ${
        columnsOf({
          ...noFailure(dialect),
          holder: sql`case when holder is null then holder else ${parameter('fresh')} end`,
          ...position(parameter, dialect),
        }).assignments
      }
      where endpoint = ${parameter('endpoint')} and ${where(parameter, dialect)} returning endpoint`,
  );

const resume = action((_, { presentTable }) => columnsOf(presentTable).areEqual);

// After a lost connection the statement is repeated, and then nothing fails any more.
const skip = action<Position>(
  (parameter, { presentTable }) => sql`${columnsOf(presentTable).areEqual} and (
    (failing_changed = ${parameter('changed')} and failing_id = ${parameter('id')})
    or (changed = ${parameter('changed')} and id = ${parameter('id')}))`,
  (parameter) => ({ changed: parameter('changed'), id: parameter('id') }),
);

const rewind = action(
  () => sql`true`,
  (_, { presentTable }) => ({ changed: sql`0`, id: sql`${MIN_INT64}`, ...presentTable }),
);

export function webhookEndpoints(run: Run): WebhookEndpoints {
  /** @returns whether there is such an endpoint, for which the condition holds */
  const affects = async (work: (session: Session, fresh: string) => Promise<readonly unknown[]>) =>
    (await run('writes', (session) => work(session, randomUUID()))).length > 0;

  return {
    states: async () => (await run('reads', (session) => selectStatus(session, {}))).map(endpointIn),
    resume: (endpoint) => affects((session, fresh) => resume(session, { endpoint, fresh })),
    skip: (endpoint, { changed, id }) => affects((session, fresh) => skip(session, { endpoint, fresh, changed, id })),
    rewind: (endpoint) => affects((session, fresh) => rewind(session, { endpoint, fresh })),
  };
}

function endpointIn(row: StatusRow): KnownEndpoint {
  return {
    ...stateOf(row),
    backlog: Number(row.backlog),
    isLeased: Boolean(row.leased),
    failures: Number(row.failures),
    reason: row.reason ?? undefined,
    failing: positionOf(row.failing_changed, row.failing_id),
    retryIn: Number(row.retry_in) / 1_000,
  };
}
