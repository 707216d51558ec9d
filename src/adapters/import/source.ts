import { type BigIntStats, constants, createReadStream, fstatSync, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { promisify } from 'node:util';

/** The bytes of a list. */
export interface Source {
  readonly chunks: AsyncIterable<Buffer>;
  bytesRead(): number;
  /** In bytes; undefined if they come from a pipe. */
  readonly size: number | undefined;
  /** What was opened, which may have other names than the one it was opened by. */
  readonly stats: BigIntStats;
  /** Stops reading, even where nobody has ended it: an open standard input keeps a process alive. */
  close(): void;
}

/** Bytes at once: enough that a chunk costs little, few enough that its plants are soon created. */
const CHUNK = 256 * 1024;

/** As a number: a FileHandle would close itself once it is garbage, whoever uses its descriptor. */
const openDescriptor = promisify(open);

/**
 * Opens a file, or standard input for `-`. Reading ends with an error when the signal comes.
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
  // A plain open of a FIFO would wait until somebody opens it to write, and nothing could interrupt that.
  return openDescriptor(path, constants.O_RDONLY | (stats.isFIFO() ? constants.O_NONBLOCK : 0));
}

/** A socket waits for a pipe in the event loop; a file stream would wait in a thread, which nothing can interrupt. */
function streamOf(fd: number, stats: BigIntStats) {
  if (stats.isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return createReadStream('', { fd, highWaterMark: CHUNK });
}
