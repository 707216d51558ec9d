import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';

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
