import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/* What a program has done to files, from the output of strace -f -y -xx, as entries of a journal. */

/** One entry: its JSON in a line, then the octets that were written, if there are any. */
export type Entry =
  | { readonly op: 'write'; readonly path: string; readonly at: number; readonly size: number }
  | { readonly op: 'zeros'; readonly path: string; readonly at: number; readonly size: number }
  | { readonly op: 'truncate'; readonly path: string; readonly size: number }
  | { readonly op: 'create' | 'mkdir' | 'unlink' | 'rmdir' | 'sync' | 'failure'; readonly path: string }
  | { readonly op: 'rename'; readonly path: string; readonly to: string }
  /** The response to the request with this header `X-Operation`. */
  | { readonly op: 'response'; readonly operation: string; readonly status: number };

/** The calls that are understood. */
export const CALLS = 'openat,pwrite64,write,ftruncate,fsync,fdatasync,unlink,rename,mkdir';

const CALL = /^(\w+)\((.*)\) += (-?\d+)/;
const TEXT = /"((?:\\x[\da-f]{2})*)"/g;
const NUMBERS = /, (\d+)(?:, (\d+))?$/;

const decoded = (hex: string) => Buffer.from(hex.replaceAll('\\x', ''), 'hex');

/**
 * Reads a trace to its end.
 *
 * @param isRecorded whether a file or folder is of interest
 * @param marks the file of response-marks.ts
 * @param existing the files that are there, which is kept up to date
 */
export async function* straceEntries(
  trace: string,
  isRecorded: (path: string) => boolean,
  marks: string,
  existing: Set<string>,
): AsyncIterable<{ readonly entry: Entry; readonly octets?: Buffer }> {
  const unfinished = new Map<string, string>();
  for await (const line of createInterface(createReadStream(trace))) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      unfinished.set(pid, rest.slice(0, -'<unfinished ...>'.length).trimEnd());
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    yield* entriesOf(resumed === null ? rest : `${unfinished.get(pid) ?? ''}${resumed[1]}`);
  }

  function* entriesOf(text: string): Iterable<{ readonly entry: Entry; readonly octets?: Buffer }> {
    const [, call, args = '', result = ''] = CALL.exec(text) ?? [];
    if (call === undefined) return;
    const texts = [...args.matchAll(TEXT)].map(([, hex = '']) => decoded(hex));
    const path = decoded(/^\d+<((?:\\x[\da-f]{2})*)>/.exec(args)?.[1] ?? '').toString() || `${texts[0]}`;
    const numbers = (NUMBERS.exec(args) ?? []).slice(1).map(Number);
    if (call === 'write' && path === marks) {
      for (const mark of `${texts[0]}`.trim().split('\n')) {
        yield { entry: { op: 'response', operation: mark.slice(4), status: Number(mark.slice(0, 3)) } };
      }
    }
    if (!isRecorded(path)) return;
    if (result.startsWith('-')) {
      if (call === 'fsync' || call === 'fdatasync') yield { entry: { op: 'failure', path } };
      return;
    }
    if (call === 'openat' && args.includes('O_CREAT') && !existing.has(path)) {
      existing.add(path);
      yield { entry: { op: 'create', path } };
    }
    if (call === 'openat' && args.includes('O_TRUNC')) throw new Error(`${path} was truncated by its opening`);
    if (call === 'write') throw new Error(`${path} was written without a position`);
    if (call === 'pwrite64') {
      const [octets = Buffer.alloc(0)] = texts;
      const [size, at = 0] = numbers;
      if (octets.length !== size) throw new Error(`strace has cut a write of ${size} octets`);
      const done = octets.subarray(0, Number(result));
      yield { entry: { op: 'write', path, at, size: done.length }, octets: done };
    }
    if (call === 'ftruncate') yield { entry: { op: 'truncate', path, size: numbers[0] ?? 0 } };
    if (call === 'fsync' || call === 'fdatasync') yield { entry: { op: 'sync', path } };
    if (call === 'mkdir') yield { entry: { op: 'mkdir', path } };
    if (call === 'rename') throw new Error(`${path} was renamed`);
    if (call === 'unlink') {
      existing.delete(path);
      yield { entry: { op: 'unlink', path } };
    }
  }
}
