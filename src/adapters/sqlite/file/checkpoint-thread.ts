import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './connection.ts';

/* The thread of a large checkpoint, which has a connection of its own. An error ends it, and reaches who has started it. */

/** How long to wait for a transaction of the service, or of a command. */
const BUSY_MS_MAX = 50;

const sql = openConnection(workerData);
sql.exec(`pragma busy_timeout = ${BUSY_MS_MAX}`);
const checkpoint = (mode: 'passive' | 'truncate') => sql.prepare(`pragma wal_checkpoint(${mode})`).get();
// Beside writes, and what these have brought meanwhile.
checkpoint('passive');
let progress = checkpoint('passive');
// Writes wait for this one, which has little left to do. Truncating a large WAL takes long, too.
if (progress?.checkpointed === progress?.log) progress = checkpoint('truncate');
sql.close();
parentPort?.postMessage(progress);
