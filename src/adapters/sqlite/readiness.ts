import { endpointsProblem } from '../sql/webhooks/endpoints.ts';
import type { OpenDatabase } from './file/database.ts';

/** From this size on, a reader keeps the pages of the WAL from being written into the file. */
const STUCK_WAL_BYTES_MIN = 256 * 1024 ** 2;

/** Checks that plants can be stored and read now, and describes what else is wrong, with what to do. */
export async function problemsIn(file: OpenDatabase, endpoints: readonly string[]): Promise<(string | undefined)[]> {
  file.requireWritable();
  // Every write takes this path.
  await file.run('writes', async () => {});
  const wal = file.walSize();
  return [
    file.recentProblem(),
    wal >= STUCK_WAL_BYTES_MIN
      ? `plants.db-wal has grown to ${Math.round(wal / 1024 ** 2)} MB: end the backup or other program that keeps the database open`
      : undefined,
    await file.run('reads', (session) => endpointsProblem(session, endpoints)),
  ];
}
