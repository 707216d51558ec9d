/* Signals to processes of this machine that may have ended by themselves, as idle backends do. */

/** @returns false if there is no such process any more */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Stops processes. @returns what lets them go on */
export function freeze(pids: readonly number[]): () => void {
  for (const pid of pids) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of pids) signal(pid, 'SIGCONT');
  };
}
