import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, TOKEN } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';

/** A program that imports the list that is its argument. */
interface Importer {
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** This version's import into a service. */
export function importInto({ url }: Server): Importer {
  const script = join(import.meta.dirname, '../src/import.ts');
  return { script, environment: { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN } };
}

/** Starts an import, which ends with the session if not before. */
export function startImport({ script, environment }: Importer, list: string, { folder, opened, signal }: Session) {
  const child = spawn(process.execPath, [script, list], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  async function stop(): Promise<void> {
    child.kill();
    await ended;
  }
  opened.defer(stop);
  return {
    pid: child.pid ?? 0,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** Resolves when it has ended. @throws Error unless all plants are in the store */
    async done(): Promise<void> {
      const [code] = await ended;
      if (code !== 0) throw new Error(`the import of ${list} ended with ${code}: ${await said}`);
    },
    stop,
  };
}

/** Imports a list. @param onSample called twice a second with the seconds since the start, and the import's process */
export async function runImport(
  importer: Importer,
  list: string,
  session: Session,
  onSample: (time: number, pid: number) => void = () => {},
): Promise<void> {
  const { pid, isRunning, done } = startImport(importer, list, session);
  const ended = done();
  const start = performance.now();
  while (isRunning()) {
    await Promise.race([ended, sleep(500)]);
    onSample((performance.now() - start) / 1_000, pid);
  }
  await ended;
}
