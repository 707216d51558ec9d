import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/* What a program has done to files, from the output of strace -f -y -xx. */

export type Entry =
  | { readonly op: 'write'; readonly path: string; readonly at: number; readonly octets: Buffer }
  | { readonly op: 'truncate'; readonly path: string; readonly size: number }
  | { readonly op: 'create' | 'mkdir' | 'unlink' | 'sync' | 'failure'; readonly path: string }
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
): AsyncIterable<Entry> {
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

  function* entriesOf(text: string): Iterable<Entry> {
    const [, call, args = '', result = ''] = CALL.exec(text) ?? [];
    if (call === undefined) return;
    const texts = [...args.matchAll(TEXT)].map(([, hex = '']) => decoded(hex));
    const path = decoded(/^\d+<((?:\\x[\da-f]{2})*)>/.exec(args)?.[1] ?? '').toString() || `${texts[0]}`;
    const [size = 0, at = 0] = (NUMBERS.exec(args) ?? []).slice(1).map(Number);
    if (call === 'write' && path === marks) {
      for (const mark of `${texts[0]}`.trim().split('\n')) {
        yield { op: 'response', operation: mark.slice(4), status: Number(mark.slice(0, 3)) };
      }
    }
    if (!isRecorded(path)) return;
    const isSync = call === 'fsync' || call === 'fdatasync';
    if (result.startsWith('-')) {
      if (isSync) yield { op: 'failure', path };
      return;
    }
    if (call === 'openat' && args.includes('O_TRUNC')) throw new Error(`${path} was truncated by its opening`);
    if (call === 'write') throw new Error(`${path} was written without a position`);
    if (call === 'rename') throw new Error(`${path} was renamed`);
    if (call === 'openat' && args.includes('O_CREAT') && !existing.has(path)) {
      existing.add(path);
      yield { op: 'create', path };
    }
    if (call === 'pwrite64') {
      const [octets = Buffer.alloc(0)] = texts;
      if (octets.length !== size) throw new Error(`strace has cut a write of ${size} octets`);
      yield { op: 'write', path, at, octets: octets.subarray(0, Number(result)) };
    }
    if (call === 'ftruncate') yield { op: 'truncate', path, size };
    if (isSync) yield { op: 'sync', path };
    if (call === 'mkdir') yield { op: 'mkdir', path };
    if (call === 'unlink') {
      existing.delete(path);
      yield { op: 'unlink', path };
    }
  }
}
