import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Server, TOKEN } from '../../tooling/server-process.ts';
import type { Session } from '../../tooling/session.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Starts npm run import, which ends with the session if not before. @param folder of the version that imports */
export function startImport({ url }: Server, list: string, session: Session, folder = ROOT) {
  const child = spawn(process.execPath, [join(folder, 'src/import.ts'), list], {
    cwd: session.folder,
    env: { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: session.signal,
  });
  // One that is stopped with the session is no error.
  child.on('error', () => {});
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  async function stop(): Promise<void> {
    child.kill();
    await ended;
  }
  session.opened.defer(stop);
  return {
    pid: child.pid ?? 0,
    /** Resolves when it has ended. @throws Error unless all plants are in the store */
    async done(): Promise<void> {
      const [code] = await ended;
      if (code !== 0) throw new Error(`the import of ${list} ended with ${code}: ${await said}`);
    },
    stop,
  };
}
