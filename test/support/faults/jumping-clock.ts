import { chmod, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { debianProgram } from '../servers/debian-program.ts';
import { temporaryFolder } from '../service-process.ts';

/** A clock of programs that get this environment, which jumps when it is told to, until the end of the test. */
export async function jumpingClock() {
  debianProgram('faketime');
  const folder = await temporaryFolder();
  // A server of the tests runs as another user.
  await chmod(folder, 0o755);
  const offset = join(folder, 'offset');
  /** @param to from the real time, such as `+400d` */
  async function jump(to: string): Promise<void> {
    await writeFile(`${offset}.new`, to);
    await rename(`${offset}.new`, offset);
  }
  await jump('+0');
  const environment = {
    LD_PRELOAD: await libfaketime(),
    FAKETIME_TIMESTAMP_FILE: offset,
    // Seconds. Reading the file for every time that is asked for, also in a signal handler, which interrupts malloc() and
    // calls it again, crashed and blocked backends of Postgres.
    FAKETIME_CACHE_DURATION: '1',
    // The kernel's monotonic clock does not jump either.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return { environment, jump };
}

/** In a folder of Debian's that is named for the architecture. */
async function libfaketime(): Promise<string> {
  for (const folder of await readdir('/usr/lib')) {
    if (folder.endsWith('-linux-gnu')) return join('/usr/lib', folder, 'faketime/libfaketime.so.1');
  }
  throw new Error('no folder of libraries');
}
