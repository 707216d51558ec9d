import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './connection.ts';

/* The thread of a large checkpoint, with a connection of its own. An error ends it, and reaches its creator. */

/** How long to wait for a transaction of the service, or of a command. */
const BUSY_MS_MAX = 50;

const { path, ino } = workerData;
// The old WAL would damage a backup that has been put in the place of the file since.
if (statSync(path, { bigint: true }).ino !== ino) throw new Error(`${path} was replaced`);
// No file is created in its place either.
const sql = openConnection(`${pathToFileURL(path).href}?mode=rw`);
sql.exec(`pragma busy_timeout = ${BUSY_MS_MAX}`);
const checkpoint = (mode: 'passive' | 'truncate') => sql.prepare(`pragma wal_checkpoint(${mode})`).get();
// Runs beside writes, and includes what they add meanwhile.
checkpoint('passive');
let progress = checkpoint('passive');
// Writes wait for this checkpoint, which has little left to do. Truncating a large WAL is slow, too.
if (progress?.checkpointed === progress?.log) progress = checkpoint('truncate');
sql.close();
parentPort?.postMessage(progress);
