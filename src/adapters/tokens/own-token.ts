import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The token that a service without configured ones makes on its first start: 256 random bits, kept in the file
 * `access-token` of the folder, which only its owner can read. The caller must hold the directory's lock.
 */
export async function ownToken(folder: string): Promise<string> {
  const file = join(folder, 'access-token');
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (kept !== '') return kept.trim();

  const token = randomBytes(32).toString('base64url');
  // Under another name first: a crash in between must not leave half a token.
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
}
