import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { syncedFiles } from './emscripten-files.ts';

/** One of PGlite's defaults: https://www.postgresql.org/docs/18/app-postgres.html#APP-POSTGRES-OPTIONS */
const NO_FSYNC = '-F';

/** Emscripten's fdatasync, the default, does nothing. */
const SYNC_BY_FSYNC = ['-c', 'wal_sync_method=fsync'];

/**
 * As for any disk that does not turn. Until a start has collected statistics, the planner would otherwise rather sort a
 * hundred thousand rows for each page of the feed than read a thousand by an index.
 */
const CHEAP_PAGES = ['-c', 'random_page_cost=1.1'];

/**
 * Opens PGlite so that what it commits is on the disk; ends the process once the disk cannot keep it.
 *
 * @param named the name of the folder for people
 * @param say called with why the process ends
 * @throws Error if it cannot be opened, or does not sync what it commits
 */
export async function openPGlite(folder: string, named: string, say: (text: string) => void): Promise<PGlite> {
  // Imported only here: it takes a hundred megabytes, which a service on a Postgres server does not need.
  const { PGlite, types } = await import('@electric-sql/pglite');
  let isOpen = false;
  let lastMessage = '';
  const end = (reason: string) => {
    say(`Plant Store cannot continue: ${reason}. Nothing that was acknowledged is lost.`);
    process.exit(1);
  };
  const { fs, syncs } = await syncedFiles(folder, {
    onFailure: (error) => end(failedDisk(named, error)),
    // A damaged folder makes it abort, too: that is reported below.
    onAbort: () => isOpen && end(`Postgres has given up in ${named} (${lastMessage})`),
  });
  const startParams = [
    ...PGlite.defaultStartParams.filter((param) => param !== NO_FSYNC),
    ...SYNC_BY_FSYNC,
    ...CHEAP_PAGES,
  ];
  const onStderr = (line: string) => {
    lastMessage = /(?:PANIC|FATAL): +(.*)/.exec(line)?.[1] ?? lastMessage;
    // Not printed.
    return false;
  };
  const pglite = await PGlite.create({ fs, startParams, onStderr, parsers: { [types.INT8]: BigInt } }).catch(
    async (error: Error) => {
      const why = await openFailure(error, folder, lastMessage);
      throw new Error(`the database in ${named} cannot be opened: ${why}`, { cause: error });
    },
  );
  isOpen = true;
  const before = syncs();
  await pglite.exec("select pg_logical_emit_message(true, '', '')");
  if (syncs() === before) throw new Error('PGlite has committed without fsync: this version of it cannot be used');
  return pglite;
}

export function failedDisk(folder: string, { message }: Error): string {
  return `the disk of ${folder} has failed to keep what was written (${message})`;
}

/** Mebibytes: Postgres writes a WAL segment of 16 when it recovers, and perhaps the next one. */
const ROOM = 32;

/**
 * Why PGlite cannot open a folder, and what to do. Its own error says little, and advice to restore a backup would lose
 * plants that are all there.
 *
 * @param said Postgres's last message, if it has given up
 */
export async function openFailure(error: Error, folder: string, said = ''): Promise<string> {
  if (isNoSpace(error) || /No space left on device|Disk quota exceeded/.test(said)) {
    return `no space is left on the disk: make room for ${ROOM} MiB or more and try again; leave the folder as it is`;
  }
  const problem = await accessProblem(folder);
  if (problem !== undefined) return `${problem.message}: fix that and try again; leave the folder as it is`;
  // What V8 throws when it cannot allocate the memory of WebAssembly.
  if (error instanceof RangeError) return `${error.message}: let the process have more memory and try again`;
  return (
    `${said || error.message}; it is damaged or not PGlite's, or memory is short: let the process have more memory; ` +
    'if that does not help, keep a copy of the folder and restore a backup, or set DATA_DIR to another folder'
  );
}

/** Such as that of a file that belongs to root since a start with sudo. */
async function accessProblem(folder: string): Promise<NodeJS.ErrnoException | undefined> {
  try {
    for (const { parentPath, name } of await readdir(folder, { recursive: true, withFileTypes: true })) {
      await access(join(parentPath, name), constants.R_OK | constants.W_OK);
    }
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/** The errors of PGlite's file system have a WASI number and no code. A quota that is used up is a full disk, too. */
function isNoSpace({ code, errno }: NodeJS.ErrnoException): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT' || (code === undefined && errno === WASI_ENOSPC);
}

/** https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md#-errno-variant */
const WASI_ENOSPC = 51;
