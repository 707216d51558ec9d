import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll } from '@jest/globals';
import { projectFile, temporaryFolder } from '../service-process.ts';

/* Tools that have a lock file of their own, since they take some 300 MB each. */

/** Installs those of a folder of this project in a temporary one, for the tests of a file. */
export function installTools(name: 'test/renovate') {
  const source = projectFile(name);
  const isSource = (path: string) => !path.includes('node_modules');
  let tools = '';
  beforeAll(async () => {
    tools = await temporaryFolder();
    await cp(source, tools, { recursive: true, filter: isSource });
    await promisify(execFile)('npm', ['ci'], { cwd: tools });
  }, 300_000);
  return {
    /** An executable file of Node.js. */
    bin: (name: string) => join(tools, 'node_modules/.bin', name),
    /** A new folder beside them, with the same files. */
    async folder(name: string): Promise<string> {
      const folder = join(tools, name);
      await mkdir(folder);
      await cp(source, folder, { recursive: true, filter: isSource });
      return folder;
    },
  };
}
