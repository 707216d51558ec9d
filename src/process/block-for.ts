/** Blocks this thread, and with it the event loop: only for the start and the end of a process. */
export function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
