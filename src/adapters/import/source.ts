import { fstatSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';

/** The bytes of a list. */
export interface Source {
  readonly chunks: AsyncIterable<Buffer>;
  bytesRead(): number;
  /** In bytes; undefined if they come from a pipe. */
  readonly size: number | undefined;
  /** Stops reading, even where nobody has ended it: an open standard input keeps a process alive. */
  close(): void;
}

/** Bytes at once: enough that a chunk costs little, few enough that its plants are soon created. */
const CHUNK = 256 * 1024;

/**
 * Opens a file, or standard input for `-`. Reading ends with an error when the signal comes.
 *
 * @throws Error if there is no such file, or it is a folder
 */
export async function openSource(path: string, signal: AbortSignal): Promise<Source> {
  const file = path === '-' ? undefined : await open(path);
  const stream = addAbortSignal(signal, file?.createReadStream({ highWaterMark: CHUNK }) ?? process.stdin);
  const stats = fstatSync(file?.fd ?? process.stdin.fd);
  if (stats.isDirectory()) throw new Error(`${path} is a folder`);
  return {
    chunks: stream,
    bytesRead: () => stream.bytesRead,
    size: stats.isFile() ? stats.size : undefined,
    close: () => stream.destroy(),
  };
}
