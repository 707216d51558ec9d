import { randomBytes } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TOKEN } from '../../application/permissions.ts';

/**
 * The token that a service without configured tokens makes on its first start: 256 random bits, kept in a file that
 * only its owner can read. It survives a power loss. The caller must hold the lock of the folder of the file.
 *
 * @throws Error, saying what to do, if the file contains a name, or a token that ACCESS_TOKENS would refuse
 */
export async function ownToken(file: string): Promise<string> {
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
    await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
  }
  // An earlier start may have ended before this.
  await syncFolder(dirname(file));
  return token;
}

/** Syncs the names in a folder where the system can: Windows and some network file systems cannot. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } catch (error) {
    if (!['EINVAL', 'EPERM'].includes(`${(error as NodeJS.ErrnoException).code}`)) throw error;
  } finally {
    await handle.close();
  }
}
