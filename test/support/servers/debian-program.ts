import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/**
 * Finds a program of one of Debian's packages.
 *
 * @returns its path
 * @throws Error if it is not on this machine: a test that needs it then fails
 */
export function debianProgram(name: string, debianPackage = name): string {
  // The last is not in everybody's PATH, but where Debian keeps servers.
  const paths = [...(process.env.PATH?.split(':') ?? []), '/usr/sbin'].map((folder) => join(folder, name));
  const found = paths.find(isExecutable);
  if (found === undefined) throw new Error(`${name} is missing; it is in Debian's package ${debianPackage}`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
