import { createReadStream, fstatSync, openSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { addAbortSignal } from 'node:stream';

/** Bytes per read, and so of the plants of a batch: enough for full statements, few enough to be stored soon. */
const CHUNK = 128 * 1024;

/**
 * Opens a file, or standard input for `-`. Reading fails once the signal is aborted.
 *
 * @throws Error, saying what to do, if there is no such file
 */
export function openSource(path: string, signal: AbortSignal) {
  const isInput = path === '-';
  const fd = isInput ? process.stdin.fd : openFile(path);
  const stats = fstatSync(fd, { bigint: true });
  const stream = addAbortSignal(signal, isInput ? process.stdin : createReadStream('', { fd, highWaterMark: CHUNK }));
  const chunks: AsyncIterable<Buffer> = stream;
  return {
    chunks,
    bytesRead: () => stream.bytesRead,
    /** Bytes; undefined for a pipe. */
    size: stats.isFile() ? Number(stats.size) : undefined,
    /** Identifies the opened file, which may also have other names. */
    stats,
    /** Stops reading even before the end: an open standard input keeps the process alive. */
    close: () => void stream.destroy(),
  };
}

export type Source = ReturnType<typeof openSource>;

function openFile(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  const where = isAbsolute(path) ? '' : ` in ${process.cwd()}`;
  if (stats === undefined) throw new Error(`there is no file ${path}${where}: correct the path`);
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw new Error(`${path} is not a file: name one, or - for standard input`);
  return openSync(path, 'r');
}
