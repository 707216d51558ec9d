import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database.ts';

/** Octets of WAL after which there is a checkpoint: enough for few of them, little enough to recover in a second. */
const WAL = 64 * 1024 ** 2;

/** Milliseconds between checks. */
const INTERVAL = 1_000;

/**
 * Does what the background processes of a server would do, which PGlite does not have. Vacuums now: the table would keep
 * the earlier versions of its rows, and the planner would know nothing of it. Then makes checkpoints: without them, the
 * WAL would grow until the service is stopped.
 *
 * @returns a function that ends this
 */
export async function startUpkeep(database: Kysely<Tables>): Promise<() => void> {
  // Before requests are served, since it blocks the event loop for 1.5 s after a million changes. If the disk is full, the
  // next start tries again.
  await sql`vacuum (analyze) plants`.execute(database).catch(() => {});
  let running = false;
  const timer = setInterval(async () => {
    if (running) return;
    running = true;
    try {
      const { rows } = await sql<{ isDue: boolean }>`
        select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) > ${WAL}::bigint as "isDue"
        from pg_control_checkpoint()`.execute(database);
      if (rows[0]?.isDue) await sql`checkpoint`.execute(database);
    } catch {
      // The disk is full, for example: requests report that, and the next check tries again.
    }
    running = false;
  }, INTERVAL);
  timer.unref();
  return () => clearInterval(timer);
}
