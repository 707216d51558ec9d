import { childrenOf, commandOf } from '../../../tooling/linux-process.ts';
import { eventually } from '../eventually.ts';
import type { NodeProcess } from '../service-process.ts';

/* The processes of a service with more than one of PROCESSES, as Linux lists them. */

/** The process of the worker with this number, undefined while there is none. */
export function workerAt(worker: number, { pid = 0 }: NodeProcess): number | undefined {
  return childrenOf(pid).find((child) => commandOf(child).at(-1) === `${worker}`);
}

/** Ends this worker with SIGKILL. @returns the id of its process */
export async function killWorker(worker: number, service: NodeProcess): Promise<number> {
  await eventually(() => workerAt(worker, service) !== undefined);
  const pid = workerAt(worker, service) ?? 0;
  process.kill(pid, 'SIGKILL');
  return pid;
}

/** Whether there is such a process, other than as one that has ended. */
export const isAlive = (pid: number) => commandOf(pid).length > 0;
