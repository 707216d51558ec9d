import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { type KnownEndpoint, MAX_COUNTED, type WebhookEndpoints } from '../../../application/maintenance.ts';
import type { Position } from '../../../application/ports.ts';
import type { EndpointState } from '../../../application/webhooks/ports.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { positionOf, requireLog } from '../changes/reader.ts';
import type { Columns, Dialect, Session } from '../dialect.ts';
import type { Run } from '../run.ts';
import { columnsOf, type Parameter, statement } from '../statement.ts';
import { isDue, lastOf, noFailure } from './rows.ts';

interface EndpointRow {
  readonly endpoint: string;
}

interface StateRow extends EndpointRow, Position {
  readonly parked: unknown;
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

interface KnownRow extends StateRow {
  readonly failures: number | bigint;
  readonly reason: string | null;
  readonly failing_changed: bigint | null;
  readonly failing_id: bigint | null;
  readonly leased: unknown;
  readonly retry_in: number | bigint;
  readonly backlog: bigint;
}

const selectKnown = statement<object, EndpointRow>(() => sql`select endpoint from webhooks`);

const insertMissing = statement<{ missing: readonly (readonly [string])[] }, EndpointRow>((parameter, dialect) => {
  const { names, values } = columnsOf({
    endpoint: sql`value ->> 0`,
    changed: sql`coalesce(last.changed, 0)`,
    id: sql`coalesce(last.id, ${MIN_INT64})`,
    ...dialect.presentTable,
  });
  return sql<EndpointRow>`
      insert into webhooks (${names}) select ${values}
      from ${dialect.items(parameter('missing'))} as item left join (${lastOf(dialect)}) as last on true where true
      on conflict (endpoint) do nothing`;
});

/**
 * Gives each endpoint that is not known a place at the end of the log. To be called once: an endpoint whose row goes later
 * is not entered again, since a restore may be about to bring it back. One that is known needs no write.
 */
export async function enterEndpoints(session: Session, endpoints: readonly string[]): Promise<void> {
  const known = await selectKnown(session, {});
  const missing = endpoints.filter((name) => !known.some(({ endpoint }) => endpoint === name));
  if (missing.length === 0) return;
  await requireLog(session);
  await insertMissing(session, { missing: missing.map((name) => [name] as const) });
}

const STATE = sql`endpoint, webhooks.changed, webhooks.id, parked, last.changed as end_changed, last.id as end_id`;

const select = <Row extends StateRow>(dialect: Dialect, columns: RawBuilder<unknown>) => sql<Row>`
  select ${columns} from webhooks left join (${lastOf(dialect)}) as last on true order by endpoint`;

const selectStates = statement<object, StateRow>((_, dialect) => select(dialect, STATE));

/** The same with what only operators ask for: what waits is counted row by row. */
const selectAll = statement<object, KnownRow>((_, dialect) => {
  const { clock } = dialect;
  return select<KnownRow>(
    dialect,
    sql`${STATE}, failures, reason, failing_changed, failing_id, holder is not null and expires > ${clock.now} as leased,
      case when ${isDue(dialect)} then 0 else -${clock.millisecondsSince(sql`retry_at`)} end as retry_in,
      (select count(*) from (
        select 1 from plants where (plants.changed, plants.id) > (webhooks.changed, webhooks.id)
          and (plants.changed, plants.id) <= (last.changed, last.id)
        order by plants.changed, plants.id limit ${sql.lit(MAX_COUNTED)}
      ) as one) as backlog`,
  );
});

/** How the endpoints are doing, for each scrape of metrics. */
export function endpointStates(run: Run): () => Promise<EndpointState[]> {
  return async () => (await run('reads', (session) => selectStates(session, {}))).map(stateOf);
}

type ActionValues = EndpointRow & { readonly fresh: string };
type Build<Values, Built> = (parameter: Parameter<Values & ActionValues>, dialect: Dialect) => Built;

/**
 * Takes the lease from whoever has it, and gives it to nobody before it expires: until then that one may begin requests.
 * Whoever delivers begins anew.
 */
const action = <Values extends object>(
  where: Build<Values, RawBuilder<unknown>>,
  position: Build<Values, Columns> = () => ({}),
) =>
  statement<Values & ActionValues, EndpointRow>(
    (parameter, dialect) => sql<EndpointRow>`
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
  const done = async (work: (session: Session, fresh: string) => Promise<readonly EndpointRow[]>) =>
    (await run('writes', (session) => work(session, randomUUID()))).length > 0;

  return {
    states: async () => (await run('reads', (session) => selectAll(session, {}))).map(knownOf),
    resume: (endpoint) => done((session, fresh) => resume(session, { endpoint, fresh })),
    skip: (endpoint, { changed, id }) => done((session, fresh) => skip(session, { endpoint, fresh, changed, id })),
    rewind: (endpoint) => done((session, fresh) => rewind(session, { endpoint, fresh })),
  };
}

function stateOf({ endpoint, changed, id, end_changed, end_id, parked }: StateRow): EndpointState {
  const position = { changed, id };
  return { endpoint, position, end: positionOf(end_changed, end_id) ?? position, isParked: Boolean(parked) };
}

function knownOf(row: KnownRow): KnownEndpoint {
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
