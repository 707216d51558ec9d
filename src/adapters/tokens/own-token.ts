import { randomBytes } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The token that a service without configured ones makes on its first start: 256 random bits, kept in the file
 * `access-token` of the folder, which only its owner can read. It survives a power loss. The caller must hold the
 * directory's lock.
 */
export async function ownToken(folder: string): Promise<string> {
  const file = join(folder, 'access-token');
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const kept = content.trim();
  const token = kept === '' ? randomBytes(32).toString('base64url') : kept;
  if (kept === '') {
    // Under another name first: a crash in between must not leave half a token.
    await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  // Also one of an earlier start, which may have ended before this.
  await sync(file, 'r+');
  // Windows cannot sync folders.
  if (process.platform !== 'win32') await sync(folder, 'r');
  return token;
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
