let next: Promise<void> | undefined;

/**
 * Resolves at the end of this turn of the event loop. What is answered without waiting for anything is answered then:
 * while libuv finds a thousand sockets readable it polls again before it ends the turn (uv__io_poll), so refused clients
 * that ask again at once would keep timers and new connections to the database waiting for seconds.
 */
export function turnEnd(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined;
      resolve();
    });
  });
  return next;
}
