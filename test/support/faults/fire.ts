import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { execute } from '../../../tooling/execute.ts';
import { eventually } from '../eventually.ts';

/* Much at once, at random, until enough has happened. */

/** Done again and again until the round is over. */
export type Activity = () => Promise<unknown>;

export const pick = <T>(all: readonly T[]) => all[randomInt(all.length)] as T;
export const chance = (percent: number) => randomInt(100) < percent;

/**
 * Sends a request to a service that may be killed meanwhile.
 *
 * @returns its status, or undefined, after a moment, if it has none
 * @throws RangeError at a response that says that something is wrong with the service
 */
export async function statusOf(response: Promise<{ status: number; body: string }>): Promise<number | undefined> {
  const { status, body } = await response.catch(async () => {
    await delay(20);
    return { status: undefined, body: '' };
  });
  if (status !== undefined && status >= 500 && status !== 503) throw new RangeError(`${status}: ${body}`);
  return status;
}

/** Ends one connection of the services that use a database. */
export const endBackend = (url: string) =>
  execute(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'plant-store' and pid <> pg_backend_pid() order by random() limit 1`,
  );

/** Does all of it until each of these counts has grown by so much, and rejects with the first that fails. */
export async function fire<Count extends Record<string, number>>(
  activities: readonly Activity[],
  count: Count,
  enough: Partial<Count>,
  isEnough = () => true,
): Promise<void> {
  const before = { ...count };
  const isDone = () =>
    isEnough() && Object.entries(enough).every(([name, more]) => (count[name] ?? 0) >= (before[name] ?? 0) + more);
  let isOver = false;
  const repeat = async (activity: Activity) => {
    while (!isOver) await activity();
  };
  const all = Promise.all(activities.map(repeat));
  // Reported below.
  all.catch(() => {
    isOver = true;
  });
  try {
    await eventually(() => isOver || isDone(), 300_000);
  } finally {
    isOver = true;
    await all;
  }
}
