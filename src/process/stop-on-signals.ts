import type { App } from '../composition/app.ts';
import { say } from './say.ts';

/**
 * Milliseconds within which the same signal counts once: Ctrl-C reaches npm and this process, and npm passes it on; so
 * does npm with what a service manager sends to all processes of a group.
 */
const REPEATED = 500;

/**
 * Ends the process at SIGTERM and SIGINT: at the first one in order, with exit code 0, or 1 if that fails or takes longer
 * than `shutdownTimeout`; at a second one, or one that comes before there is anything to stop, at once with 1. It says so
 * on stderr.
 *
 * @param running returns what is to be closed, undefined while it starts
 */
export function stopOnSignals(running: () => App | undefined): void {
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (first?.signal === signal && performance.now() - first.at < REPEATED) return;
      const app = running();
      if (first !== undefined || app === undefined) return exit(1, 'Stopped at once.');
      first = { signal, at: performance.now() };
      // Behind a proxy it is SIGTERM that comes; a person at a terminal need not wait.
      stop(app, signal === 'SIGTERM' ? app.shutdownDelay : 0);
    });
  }
}

/** @param acceptFor milliseconds that connections are still accepted for */
async function stop(app: App, acceptFor: number): Promise<void> {
  const limit = `${app.shutdownTimeout / 1_000} s`;
  // Not behind the ^C of a terminal.
  const newLine = process.stderr.isTTY ? '\n' : '';
  const accepting = acceptFor > 0 ? `accepting connections for ${acceptFor / 1_000} s more, ` : '';
  say(`${newLine}Stopping: ${accepting}finishing requests in flight, within ${limit}; a second signal stops at once.`);
  setTimeout(() => exit(1, `Stopped: not everything was finished within ${limit}.`), app.shutdownTimeout).unref();
  try {
    await app.close(acceptFor);
    exit(0, 'Stopped.');
  } catch (error) {
    exit(1, `Plant Store did not stop in order: ${error instanceof Error ? error.message : error}`);
  }
}

function exit(code: number, text: string): never {
  say(text);
  process.exit(code);
}
