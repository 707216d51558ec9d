import { CompiledQuery } from 'kysely';
import type { Logger } from 'pino';
import { LONG } from '../../application/changes/held-back.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { singleFlight } from '../../runtime/single-flight.ts';
import { requireLog } from '../sql/changes/reader.ts';
import type { recentFailure } from '../sql/recent-failure.ts';
import { endpointsProblem } from '../sql/webhooks/endpoints-problem.ts';
import { sessionOn } from './change-log.ts';
import { nodesCheck } from './citus.ts';
import type { Database } from './database.ts';
import { failureOf, SchemaError } from './failures.ts';
import { withAdvice } from './schema/advice.ts';
import { dangers } from './schema/dangers.ts';
import { requireMigrations } from './schema/schema-gate.ts';

/**
 * Creates the check that plants can be stored and read now and would be durable. It rejects, saying what to do, if they
 * cannot. It resolves to what does not work although they can, and what to do, or to undefined if everything works.
 * Callers share a run, which may take longer than a caller waits.
 *
 * @param webhooks their endpoints
 * @param options.log gets each new problem once, but not a feed that is held back, which ends by itself
 * @param options.heldBack seconds for which an open transaction has held back the feed; a rejection counts as none
 */
export function readiness(
  database: Database,
  webhooks: readonly { readonly name: string }[] = [],
  options: {
    readonly log?: Pick<Logger, 'warn'>;
    readonly failure?: ReturnType<typeof recentFailure>;
    readonly heldBack?: () => Promise<number>;
  } = {},
): () => Promise<string | undefined> {
  const endpoints = webhooks.map(({ name }) => name);
  const nodesProblem = nodesCheck(database);
  let logged: string | undefined;
  return singleFlight(async () => {
    try {
      // First: what else fails then only follows from it.
      await requireMigrations(database);
      // At once: one after another, they would take longer than a probe waits if the database is far away or busy.
      const [problems, setting, session] = await Promise.all([
        dangers(database),
        database.verify(),
        sessionOn(database),
        database.sql.executeQuery(CompiledQuery.raw(INSERT_NOTHING)),
      ]);
      const first =
        (await nodesProblem(session.dialect)) ??
        (await inWords(requireLog(session))) ??
        (await inWords(endpointsProblem(session, endpoints)));
      const all = [options.failure?.problem(), first, setting, ...problems].filter(Boolean).join('; ');
      if (all !== logged && all) options.log?.warn({ problem: all }, 'ready, but something is wrong with the database');
      logged = all;
      const delay = await options.heldBack?.().then(heldBackProblem, () => undefined);
      return [all, delay].filter(Boolean).join('; ') || undefined;
    } catch (error) {
      throw withAdvice(error);
    }
  });
}

/**
 * Inserts nothing, yet fails where an insert would and a read would not: on a standby, on a demoted primary (whose
 * connection is then dropped), without the INSERT privilege, while the table is locked, or if it is a different table.
 * The largest id only fits a bigint column.
 */
const INSERT_NOTHING = `insert into plants (id, name, tag)
  select ${2n ** 63n - 1n}, ''::text, null::text where false on conflict (id) do nothing returning id`;

/** What an operator is told of a feed that has been held back for so many seconds; undefined if nothing. */
export function heldBackProblem(seconds: number): string | undefined {
  return seconds > LONG
    ? `the feed of changes has been held back for ${Math.floor(seconds)} s by an open transaction: ` +
        'pg_stat_activity and pg_prepared_xacts show it'
    : undefined;
}

/** What a check resolves to, or why plants are not announced. A restore may have left a table out. */
async function inWords(check: Promise<unknown>): Promise<string | undefined> {
  try {
    const problem = await check;
    return typeof problem === 'string' ? problem : undefined;
  } catch (error) {
    if (error instanceof PlantStoreError || error instanceof SchemaError) return error.message;
    const { isTableMissing, isPrivilegeMissing } = failureOf(error);
    if (isTableMissing) return `${(error as Error).message}: run npm run migrate`;
    if (isPrivilegeMissing) return (withAdvice(error) as Error).message;
    throw error;
  }
}
