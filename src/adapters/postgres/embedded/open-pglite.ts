import type { PGlite } from '@electric-sql/pglite';
import { syncedFiles } from './emscripten-files.ts';
import { openFailure } from './open-failure.ts';

/** One of PGlite's defaults: https://www.postgresql.org/docs/18/app-postgres.html#APP-POSTGRES-OPTIONS */
const NO_FSYNC = '-F';

/** Emscripten's fdatasync, the default, does nothing. */
const SYNC_BY_FSYNC = ['-c', 'wal_sync_method=fsync'];

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
  const startParams = [...PGlite.defaultStartParams.filter((param) => param !== NO_FSYNC), ...SYNC_BY_FSYNC];
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
