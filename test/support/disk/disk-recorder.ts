import fs from 'node:fs';
import { ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { resolve, sep } from 'node:path';

/*
 * Loaded before a program (NODE_OPTIONS=--import): appends to the file RECORD_TO what the program writes, creates, renames,
 * removes and syncs below the folder RECORD_FOLDER, in this order, and when it sends which response. SQLite's lock file
 * is not recorded, which has no content. FAIL_SYNC=12,EIO makes the 12th sync after the first response fail so, and
 * IGNORE_SYNCS=1 makes all of them do nothing, as on a disk that lies.
 */

/** One entry: its JSON in a line, then the octets that were written, if there are any. */
export type Entry =
  | { readonly op: 'write'; readonly path: string; readonly at: number; readonly size: number }
  | { readonly op: 'zeros'; readonly path: string; readonly at: number; readonly size: number }
  | { readonly op: 'truncate'; readonly path: string; readonly size: number }
  | { readonly op: 'create' | 'mkdir' | 'unlink' | 'rmdir' | 'sync' | 'failure'; readonly path: string }
  | { readonly op: 'rename'; readonly path: string; readonly to: string }
  /** The response to the request with this header `X-Operation`. */
  | { readonly op: 'response'; readonly operation: string; readonly status: number };

const { RECORD_TO = '', RECORD_FOLDER = '', FAIL_SYNC = '', IGNORE_SYNCS } = process.env;
const root = resolve(RECORD_FOLDER);
const original = { ...fs };
const journal = original.openSync(RECORD_TO, 'a');
const pathOf = new Map<number, string>();
let queued: Buffer[] = [];
let queuedSize = 0;
let responses = 0;

function flush(): void {
  const all = Buffer.concat(queued);
  for (let at = 0; at < all.length; ) at += original.writeSync(journal, all, at);
  queued = [];
  queuedSize = 0;
}

function note(entry: Entry, octets?: Uint8Array): void {
  queued.push(Buffer.from(`${JSON.stringify(entry)}\n`));
  if (octets !== undefined) queued.push(Buffer.from(octets));
  queuedSize += octets?.length ?? 0;
  if (queuedSize > 1_000_000 || entry.op === 'response') flush();
}

const recorded = (path: fs.PathLike) => {
  const absolute = resolve(String(path));
  return `${absolute}${sep}`.startsWith(root + sep) && !/\/plant-store\.db[^/]*$/.test(absolute) ? absolute : undefined;
};

function noteWrite(path: string, at: number, octets: Uint8Array): void {
  const { length: size } = octets;
  if (size === 0) return;
  if (octets.every((octet) => octet === 0)) note({ op: 'zeros', path, at, size });
  else note({ op: 'write', path, at, size }, octets);
}

let failing = 0;
const [failAt, failWith] = FAIL_SYNC.split(',');
function noteSync(fd: number, sync: () => void): void {
  const path = pathOf.get(fd);
  if (path === undefined) {
    sync();
    return;
  }
  if (responses > 0 && failWith !== undefined && ++failing >= Number(failAt)) {
    // A later sync says that all is well, as Linux does once it has reported a failure.
    if (failing > Number(failAt)) {
      note({ op: 'sync', path });
      return;
    }
    note({ op: 'failure', path });
    flush();
    throw Object.assign(new Error(`${failWith}: injected, fsync`), { code: failWith, syscall: 'fsync' });
  }
  if (IGNORE_SYNCS !== undefined) return;
  sync();
  note({ op: 'sync', path });
}

Object.assign(fs, {
  openSync(path: fs.PathLike, flags: string | number = 'r', mode?: number) {
    const known = recorded(path);
    const existed = known !== undefined && original.existsSync(known);
    const fd = original.openSync(path, flags, mode);
    pathOf.delete(fd);
    if (known === undefined) return fd;
    pathOf.set(fd, known);
    const empties = typeof flags === 'number' ? (flags & fs.constants.O_TRUNC) !== 0 : flags.startsWith('w');
    if (!existed) note({ op: 'create', path: known });
    else if (empties) note({ op: 'truncate', path: known, size: 0 });
    return fd;
  },
  open(path: fs.PathLike, flags: string, done: (error: Error | null, fd?: number) => void) {
    original.open(path, flags, (error, fd) => {
      const known = recorded(path);
      if (error === null && known !== undefined) pathOf.set(fd, known);
      done(error, fd);
    });
  },
  closeSync(fd: number) {
    pathOf.delete(fd);
    original.closeSync(fd);
  },
  close(fd: number, done: (error: Error | null) => void) {
    pathOf.delete(fd);
    original.close(fd, done);
  },
  writeSync(fd: number, octets: Uint8Array, offset?: number, length?: number, position?: number | null) {
    const written = original.writeSync(fd, octets, offset, length, position);
    const path = pathOf.get(fd);
    if (path === undefined) return written;
    if (typeof position !== 'number') throw new Error(`${path} is written without a position, which is not recorded`);
    noteWrite(path, position, octets.subarray(offset, (offset ?? 0) + written));
    return written;
  },
  writeFileSync(path: fs.PathLike, data: string | Uint8Array, options?: { readonly mode?: number }) {
    const octets = Buffer.from(data);
    const fd = fs.openSync(path, 'w', options?.mode);
    fs.writeSync(fd, octets, 0, octets.length, 0);
    fs.closeSync(fd);
  },
  mkdirSync(path: fs.PathLike, options?: fs.MakeDirectoryOptions) {
    original.mkdirSync(path, options);
    noteName('mkdir', path);
  },
  unlinkSync(path: fs.PathLike) {
    original.unlinkSync(path);
    noteName('unlink', path);
  },
  rmdirSync(path: fs.PathLike) {
    original.rmdirSync(path);
    noteName('rmdir', path);
  },
  renameSync(path: fs.PathLike, to: fs.PathLike) {
    original.renameSync(path, to);
    noteRename(path, to);
  },
  ftruncateSync(fd: number, size = 0) {
    original.ftruncateSync(fd, size);
    const path = pathOf.get(fd);
    if (path !== undefined) note({ op: 'truncate', path, size });
  },
  truncateSync(path: fs.PathLike, size = 0) {
    original.truncateSync(path, size);
    const known = recorded(path);
    if (known !== undefined) note({ op: 'truncate', path: known, size });
  },
  fsyncSync: (fd: number) => noteSync(fd, () => original.fsyncSync(fd)),
  fdatasyncSync: (fd: number) => noteSync(fd, () => original.fdatasyncSync(fd)),
  fsync(fd: number, done: (error: Error | null) => void) {
    try {
      noteSync(fd, () => original.fsyncSync(fd));
      setImmediate(done, null);
    } catch (error) {
      setImmediate(done, error as Error);
    }
  },
});

function noteName(op: 'mkdir' | 'unlink' | 'rmdir', path: fs.PathLike): void {
  const known = recorded(path);
  if (known !== undefined) note({ op, path: known });
}

function noteRename(path: fs.PathLike, to: fs.PathLike): void {
  const [from, target] = [recorded(path), recorded(to)];
  if (from !== undefined && target !== undefined) note({ op: 'rename', path: from, to: target });
  for (const [fd, opened] of pathOf) {
    if (opened === from && target !== undefined) pathOf.set(fd, target);
    else if (from !== undefined && opened.startsWith(from + sep)) pathOf.set(fd, target + opened.slice(from.length));
  }
}

/* The same of promises, by the calls above. What is not here must not be used on recorded files. */
const { promises } = fs;
const opening = promises.open;
Object.assign(promises, {
  mkdir: async (path: string, options?: fs.MakeDirectoryOptions) => fs.mkdirSync(path, options),
  rename: async (path: string, to: string) => fs.renameSync(path, to),
  rmdir: async (path: string) => fs.rmdirSync(path),
  writeFile: async (path: string, data: string, options?: { readonly mode?: number }) =>
    fs.writeFileSync(path, data, options),
  async rm(path: string) {
    if (recorded(path) !== undefined && original.existsSync(path))
      throw new Error(`the removal of ${path} is not recorded`);
  },
  async open(path: string, flags?: string, mode?: number) {
    const handle = await opening(path, flags, mode);
    const known = recorded(path);
    if (known === undefined) return handle;
    pathOf.set(handle.fd, known);
    const close = handle.close.bind(handle);
    return Object.assign(handle, {
      sync: async () => fs.fsyncSync(handle.fd),
      close() {
        pathOf.delete(handle.fd);
        return close();
      },
    });
  },
});
syncBuiltinESMExports();

const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (this: ServerResponse, ...rest: unknown[]) {
  const operation = this.req.headers['x-operation'];
  if (typeof operation === 'string') {
    responses++;
    note({ op: 'response', operation, status: this.statusCode });
  }
  return end.apply(this, rest as Parameters<typeof end>);
} as typeof end;
process.on('exit', flush);
