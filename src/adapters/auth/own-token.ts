import { randomBytes } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TOKEN } from './static-tokens.ts';

const isWindows = process.platform === 'win32';

/**
 * The token that a service without configured tokens makes on its first start: 256 random bits, kept in the file
 * `access-token` of the folder, which only its owner can read. It survives a power loss. The caller must hold the lock of the
 * folder.
 *
 * @throws Error, saying what to do, if the file contains a name, or a token that ACCESS_TOKENS would refuse
 */
export async function ownToken(folder: string): Promise<string> {
  const file = join(folder, 'access-token');
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const storedToken = content.trim();
  if (storedToken !== '' && !new RegExp(`^${TOKEN}$`).test(storedToken)) {
    const rule = 'must have one token of at least 16 letters, digits and -._~+/, and no name';
    throw new Error(`${file} ${rule}: delete it, and another one is made`);
  }
  const token = storedToken === '' ? randomBytes(32).toString('base64url') : storedToken;
  if (storedToken === '') {
    // The token is written under another name first: a crash must not leave half a token.
    await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  // An earlier start may have written the file without syncing it. Windows syncs only files that are open for writing.
  await sync(file, isWindows ? 'r+' : 'r');
  if (!isWindows) await sync(folder, 'r');
  return token;
}

/** Syncs a path where the system can: some network file systems cannot sync folders. */
async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}
