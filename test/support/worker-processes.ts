import { childrenOf, commandOf } from '../../tooling/linux-process.ts';
import { eventually } from './eventually.ts';
import type { NodeProcess } from './service-process.ts';

/* The processes of a service with more than one of PROCESSES, as Linux lists them. */

/** The process that has this place, undefined while there is none. */
export function workerAt(place: number, { pid = 0 }: NodeProcess): number | undefined {
  return childrenOf(pid).find((child) => commandOf(child).at(-1) === `${place}`);
}

/** Ends the process at this place with SIGKILL. @returns its id */
export async function killWorker(place: number, service: NodeProcess): Promise<number> {
  await eventually(() => workerAt(place, service) !== undefined);
  const pid = workerAt(place, service) ?? 0;
  process.kill(pid, 'SIGKILL');
  return pid;
}

/** Whether there is such a process, other than as one that has ended. */
export const isAlive = (pid: number) => commandOf(pid).length > 0;
