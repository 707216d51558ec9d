import { positionOf } from '../../../application/changes/cursor.ts';
import { type KnownEndpoint, MAX_COUNTED, type WebhookEndpoints } from '../../../application/maintenance.ts';
import type { Position } from '../../../application/ports.ts';
import type { EndpointState } from '../../../application/webhooks/ports.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { ROW } from './positions.ts';

type WebhookRow = Parameters<typeof ROW.isDue>[0];

/** Takes the lease from whoever has it, and gives it to nobody before it expires. */
const NO_HOLDER = 'holder = case when holder is not null then lower(hex(randomblob(16))) end';

/** The rows of the endpoints, and how those are doing. */
function stateReader({ sql }: Pick<DatabaseFile, 'sql'>) {
  const select = statement<WebhookRow>(sql, 'select * from webhooks order by endpoint');
  const last = statement<Position>(sql, 'select changed, id from plants order by changed desc, id desc limit 1');
  return {
    rows: () => select.all(),
    stateOf({ endpoint, changed, id, parked }: WebhookRow): EndpointState {
      const position = { changed, id };
      return { endpoint, position, end: last.get() ?? position, isParked: parked !== 0n };
    },
  };
}

/** How the endpoints are doing, for each scrape of metrics: what waits is not counted. */
export function endpointStates(file: Pick<DatabaseFile, 'sql' | 'read'>): () => Promise<EndpointState[]> {
  const { rows, stateOf } = stateReader(file);
  return () => file.read(() => rows().map(stateOf));
}

export function webhookEndpoints({ sql, read, write }: Pick<DatabaseFile, 'sql' | 'read' | 'write'>): WebhookEndpoints {
  const { rows, stateOf } = stateReader({ sql });
  const backlog = statement<{ count: bigint }>(
    sql,
    `select count(*) as count from (select 1 from plants where (changed, id) > (?, ?) order by changed, id limit ${MAX_COUNTED})`,
  );
  const reset = `update webhooks set ${ROW.noFailure}, ${NO_HOLDER}`;
  const resume = statement(sql, `${reset} where endpoint = ?`);
  const skip = statement(
    sql,
    `${reset}, changed = ?1, id = ?2 where endpoint = ?3 and failing_changed = ?1 and failing_id = ?2`,
  );
  const isThere = statement(sql, 'select 1 from webhooks where endpoint = ? and changed = ? and id = ?');
  const rewind = statement(sql, `${reset}, changed = 0, id = ${MIN_INT64} where endpoint = ?`);

  function knownOf(row: WebhookRow): KnownEndpoint {
    const now = BigInt(Date.now());
    const { changed, id, holder, expires, failures, failing_changed, failing_id, reason, retry_at } = row;
    return {
      ...stateOf(row),
      backlog: Number(backlog.get(changed, id)?.count),
      isLeased: holder !== null && expires > now,
      failures: Number(failures),
      reason: reason ?? undefined,
      failing: positionOf(failing_changed, failing_id),
      retryIn: ROW.isDue(row, now) ? 0 : Number(retry_at - now) / 1_000,
    };
  }

  return {
    states: () => read(() => rows().map(knownOf)),
    resume: (endpoint) => write(() => resume.run(endpoint) > 0),
    skip: (endpoint, { changed, id }) =>
      write(() => skip.run(changed, id, endpoint) > 0 || isThere.get(endpoint, changed, id) !== undefined),
    rewind: (endpoint) => write(() => rewind.run(endpoint) > 0),
  };
}
