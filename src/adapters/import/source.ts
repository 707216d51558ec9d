import { type BigIntStats, constants, createReadStream, fstatSync, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { promisify } from 'node:util';

export interface Source {
  readonly chunks: AsyncIterable<Buffer>;
  bytesRead(): number;
  /** Bytes; undefined for a pipe. */
  readonly size: number | undefined;
  /** Identifies the opened file, which may also have other names. */
  readonly stats: BigIntStats;
  /** Stops reading even before the end: an open standard input keeps the process alive. */
  close(): void;
}

/** Bytes per read: enough to keep the cost per chunk low, few enough that its plants are soon created. */
const CHUNK = 256 * 1024;

/** Opens to a number: a FileHandle closes its descriptor when garbage-collected, even if that is in use. */
const openDescriptor = promisify(open);

/**
 * Opens a file, or standard input for `-`. Reading fails once the signal is aborted.
 *
 * @throws Error if there is no such file, or it is a folder
 */
export async function openSource(path: string, signal: AbortSignal): Promise<Source> {
  const fd = path === '-' ? process.stdin.fd : await openToRead(path);
  const stats = fstatSync(fd, { bigint: true });
  if (stats.isDirectory()) throw new Error(`${path} is a folder`);
  const stream = addAbortSignal(signal, path === '-' ? process.stdin : streamOf(fd, stats));
  return {
    chunks: stream,
    bytesRead: () => stream.bytesRead,
    size: stats.isFile() ? Number(stats.size) : undefined,
    stats,
    close: () => stream.destroy(),
  };
}

async function openToRead(path: string): Promise<number> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error(`there is no file ${path}`, { cause: error }) : error;
  });
  // A blocking open of a FIFO would wait for a writer, and nothing could interrupt it.
  return openDescriptor(path, constants.O_RDONLY | (stats.isFIFO() ? constants.O_NONBLOCK : 0));
}

/** A socket reads a pipe in the event loop; a file stream would block a thread, which nothing can interrupt. */
function streamOf(fd: number, stats: BigIntStats) {
  if (stats.isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream('', { fd, highWaterMark: CHUNK });
}
