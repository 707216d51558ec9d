import { plantPurge } from '../adapters/sqlite/changes/purge.ts';
import { withDatabaseFile } from '../adapters/sqlite/command-file.ts';
import { webhookEndpoints } from '../adapters/sqlite/webhooks/endpoints.ts';
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
    (file) => work({ purge: plantPurge(file), webhooks: webhookEndpoints(file), heldBack: async () => undefined }),
    stop,
  );
}
