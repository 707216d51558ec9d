import { statfs } from 'node:fs/promises';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database.ts';

/* What the background processes of a server do, which PGlite does not have. */

/** Bytes of WAL after which there is a checkpoint: enough for few of them, little enough to recover in a second. */
const WAL = 64 * 1024 ** 2;

/** Milliseconds between checks. */
const INTERVAL = 1_000;

/**
 * Vacuums and analyzes the plants: the table would keep all earlier versions of its rows, and the planner would know
 * nothing of it. To be called before requests are served, since it blocks the event loop, for 1.5 s after a million
 * changes.
 *
 * @throws Error if the disk may have too little room; nothing is done then
 */
export async function vacuum(database: Kysely<Tables>, folder: string): Promise<void> {
  const { rows } = await sql<{ bytes: bigint }>`
    select pg_total_relation_size('plants') as bytes`.execute(database);
  const { bavail, bsize } = await statfs(folder);
  // Either may write each page to the WAL, and Postgres gives up if it has no room for that.
  if (bavail * bsize < Number(rows[0]?.bytes) + 2 * WAL) throw new Error('the disk has too little room');
  await sql`vacuum (analyze) plants`.execute(database);
  await sql`checkpoint`.execute(database);
}

/**
 * Makes checkpoints: without them, the WAL would grow until the service is stopped.
 *
 * @returns a function that ends this
 */
export function startCheckpoints(database: Kysely<Tables>): () => void {
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
