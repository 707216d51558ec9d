import { say } from './say.ts';

/** What can be stopped in good order. */
interface Stoppable {
  /** Milliseconds for proxies to notice that the service is not ready. */
  readonly shutdownDelay: number;
  /** Milliseconds that `close` may take. */
  readonly shutdownTimeout: number;
  /** @param acceptFor for how many more milliseconds connections are accepted; without it, idle ones are closed at once, too */
  close(acceptFor?: number): Promise<void>;
}

/**
 * Milliseconds within which a repeated signal counts once: Ctrl-C reaches both npm and this process, and npm forwards
 * the signal, as it forwards a signal that a service manager sends to the whole process group.
 */
const REPEAT_MS_MAX = 500;

/**
 * Handles SIGTERM and SIGINT. The first signal shuts down gracefully, with exit code 0, or 1 if the shutdown fails or
 * takes longer than `shutdownTimeout`; a second signal, or one during startup, exits at once with 1. Each outcome is
 * printed to stderr.
 *
 * @returns a function to be called with the app once it has started
 */
export function stopOnSignals(): (app: Stoppable) => void {
  let app: Stoppable | undefined;
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (first?.signal === signal && performance.now() - first.at < REPEAT_MS_MAX) return;
      if (first !== undefined || app === undefined) return exit(1, 'Stopped at once.');
      first = { signal, at: performance.now() };
      // Orchestrators send SIGTERM, and their proxies need the delay; a person who presses Ctrl-C need not wait.
      stop(app, signal === 'SIGTERM' ? app.shutdownDelay : undefined);
    });
  }
  return (runningApp) => {
    app = runningApp;
  };
}

async function stop(app: Stoppable, acceptFor: number | undefined): Promise<void> {
  const limit = `${app.shutdownTimeout / 1_000} s`;
  // On a new line, after the terminal's ^C.
  const newLine = process.stderr.isTTY ? '\n' : '';
  const delay = acceptFor ? `accepting connections for ${acceptFor / 1_000} s more, ` : '';
  say(`${newLine}Stopping: ${delay}finishing requests in flight, within ${limit}; a second signal stops at once.`);
  setTimeout(() => exit(1, `Stopped: the shutdown did not finish within ${limit}.`), app.shutdownTimeout).unref();
  try {
    await app.close(acceptFor);
    exit(0, 'Stopped.');
  } catch (error) {
    exit(1, `The shutdown failed: ${error instanceof Error ? error.message : error}`);
  }
}

function exit(code: number, text: string): never {
  say(text);
  process.exit(code);
}

/**
 * Lets SIGINT and SIGTERM end a command in good order: the first of them aborts the returned AbortSignal, with the exit
 * code as its reason, and the second ends the process at once.
 *
 * @param message what the command does until it ends
 */
export function stopRequest(message: string): AbortSignal {
  const stop = new AbortController();
  const signals = [['SIGINT', 130] as const, ['SIGTERM', 143] as const];
  for (const [signal, code] of signals) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(code);
      // The default action ends the process at the next signal even if it is blocked; process.exit() would wait for every
      // thread. As process 1 of a container it keeps its handlers: the kernel ignores signals that it does not handle.
      if (process.pid !== 1) for (const [name] of signals) process.removeAllListeners(name);
      // On a new line, after the progress bar and the terminal's ^C.
      say(`${process.stderr.isTTY ? '\n' : ''}${message}; a second signal stops at once.`);
      stop.abort(code);
    });
  }
  return stop.signal;
}
