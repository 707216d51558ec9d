import { plantPurge } from '../adapters/sql/changes/purge.ts';
import { webhookEndpoints } from '../adapters/sql/webhooks/endpoints.ts';
import { withDatabaseFile } from '../adapters/sqlite/command-file.ts';
import type { Maintenance } from '../application/maintenance.ts';

/** @throws FileError, saying what to do, if the database cannot be used */
export function withSqlite<Result>(
  dataDir: string,
  isReadOnly: boolean,
  work: (store: Maintenance) => Promise<Result>,
  stop?: AbortSignal,
): Promise<Result> {
  return withDatabaseFile(
    dataDir,
    isReadOnly,
    ({ run }) => work({ purge: plantPurge(run), webhooks: webhookEndpoints(run), heldBack: async () => undefined }),
    stop,
  );
}
