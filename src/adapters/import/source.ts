import { type BigIntStats, createReadStream, fstatSync, openSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { addAbortSignal } from 'node:stream';

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

/** Bytes per read, and so of the plants of a batch: enough for full statements, few enough to be stored soon. */
const CHUNK = 128 * 1024;

/**
 * Opens a file, or standard input for `-`. Reading fails once the signal is aborted.
 *
 * @throws Error, saying what to do, if there is no such file
 */
export function openSource(path: string, signal: AbortSignal): Source {
  const isInput = path === '-';
  const fd = isInput ? process.stdin.fd : openFile(path);
  const stats = fstatSync(fd, { bigint: true });
  const stream = addAbortSignal(signal, isInput ? process.stdin : createReadStream('', { fd, highWaterMark: CHUNK }));
  return {
    chunks: stream,
    bytesRead: () => stream.bytesRead,
    size: stats.isFile() ? Number(stats.size) : undefined,
    stats,
    close: () => stream.destroy(),
  };
}

function openFile(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  const where = isAbsolute(path) ? '' : ` in ${process.cwd()}`;
  if (stats === undefined) throw new Error(`there is no file ${path}${where}: correct the path`);
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw new Error(`${path} is not a file: name one, or - for standard input`);
  return openSync(path, 'r');
}
