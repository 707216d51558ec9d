import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Session {
  /** A folder of its own for everything temporary. */
  readonly folder: string;
  /** Closed in the end, last opened first. */
  readonly opened: AsyncDisposableStack;
  /** Aborts when the session is to stop. */
  readonly signal: AbortSignal;
}

/** Runs a bench and ends this process. However that comes, no process and no folder stays behind. */
export async function session(work: (session: Session) => Promise<void>): Promise<never> {
  const opened = new AsyncDisposableStack();
  const stop = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const end = (reason: unknown) => {
    stop.abort();
    stopped.reject(reason);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(`stopped by ${signal}`));
  // Such as a closed pipe where the output goes.
  process.on('uncaughtException', end);
  try {
    const folder = await temporaryFolder(opened);
    await Promise.race([work({ folder, opened, signal: stop.signal }), stopped.promise]);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  await opened.disposeAsync();
  process.exit();
}

/** https://man7.org/linux/man-pages/man2/statfs.2.html */
const TMPFS_MAGIC = 0x01021994;

async function temporaryFolder(opened: AsyncDisposableStack): Promise<string> {
  const parent = tmpdir();
  if ((await statfs(parent)).type === TMPFS_MAGIC) {
    throw new Error(`${parent} is in memory, where commits cost nothing: set TMPDIR to a folder on a disk`);
  }
  const folder = await mkdtemp(join(parent, 'plant-store-bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  // For Postgres, which root has to run as somebody else.
  await chmod(folder, 0o755);
  process.env.TMPDIR = folder;
  return folder;
}
