import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, sql } from 'kysely';
import type { Dialect } from '../sql/dialect.ts';
import { contentAfter } from '../sql/plant-rows.ts';
import { postgres } from './dialect.ts';

/** Milliseconds in which all nodes must respond: less than a probe of /ready waits. */
const NODES_MS_MAX = 500;

/** Citus, with the table `plants` distributed over its servers. */
export const citus: Dialect = {
  ...postgres,
  // Over all shards, Citus supports neither a subquery there, nor a recursive query, nor a limit in a lateral subquery.
  hideLimit: (count) => count,
  canRecurse: false,
  forEach: undefined,
  // Its servers number their transactions independently.
  log: undefined,
  // VALUES, since Citus would insert the rows of a SELECT shard by shard.
  insert: (plants) => sql`
    insert into plants (id, name, tag) values ${sql.join(plants.map(({ id, name, tag = null }) => sql`(${id}, ${name}, ${tag})`))}
    on conflict (id) do nothing returning id`,
  // Each server counts transactions by itself, so a row that was moved may have the same version again.
  updateRow(change) {
    const { before, version, after } = change;
    const { name, tag } = contentAfter(change);
    return sql`
      update plants set name = ${name}, tag = ${tag}, deleted = ${after === 'deleted' ? sql`now()` : null}, changed = default
      where id = ${before.id} and deleted is null and changed = ${version} and name = ${before.name}
        and tag is not distinct from ${before.tag ?? null} returning id`;
  },
  // Reads the first plant of every shard.
  async problem({ sql: tables }) {
    const answer = tables.executeQuery(CompiledQuery.raw('select id from plants order by id limit 1')).then(
      () => undefined,
      (error: Error) => error.message,
    );
    const timeout = delay(NODES_MS_MAX, `no response within ${NODES_MS_MAX} ms`, { ref: false });
    const problem = await Promise.race([answer, timeout]);
    return problem && `not every node of Citus responds, and requests for plants of the others get 503: ${problem}`;
  },
};
