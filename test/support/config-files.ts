import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, type readDatabaseConfig } from '../../src/config/config.ts';
import { forAllTests } from './lifetimes.ts';
import { temporaryFolder } from './service-process.ts';

/** Files that variables name, in a temporary folder for the tests of a file. */
export function configFiles() {
  const files = forAllTests(async () => ({ folder: await temporaryFolder() }));
  return {
    folder: () => files.folder,
    /** @returns the path of a new file with this content */
    file(name: string, content: string): string {
      const path = join(files.folder, name);
      writeFileSync(path, content);
      return path;
    },
  };
}

/** The lines of the error that an environment gives. */
export function mistakes(
  environment: Record<string, string>,
  read: typeof readConfig | typeof readDatabaseConfig = readConfig,
): string[] {
  try {
    read(environment);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  throw new Error(`accepted: ${JSON.stringify(environment)}`);
}
