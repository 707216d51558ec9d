import { say } from './say.ts';

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
