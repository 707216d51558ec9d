import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTime } from '../tooling/linux-process.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import { createPlant } from './create-plant.ts';
import { type Receiver, webhookEnvironment } from './webhook-receiver.ts';

/** As many endpoints as there may be. */
export const MANY = 100;

/** Milliseconds after which an idle service has compiled what it runs. */
const WARM_UP = 5_000;

/** Milliseconds in which a plant reaches all endpoints: less than the time between two turns that take leases. */
const DELIVERY_TIME = 4_000;

export function endpointsOf({ url }: Receiver, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${url}${n}`);
}

/**
 * @param hasLeases whether the service delivers to all of its endpoints, without which it would look idle
 * @param used seconds of CPU time
 * @returns the CPU that is used while nothing happens, in percent of a core
 */
export async function idleCpu(hasLeases: () => Promise<boolean>, used: () => number, seconds: number): Promise<number> {
  while (!(await hasLeases())) await sleep(50);
  await sleep(WARM_UP);
  const [start, before] = [performance.now(), used()];
  await sleep(seconds * 1_000);
  const percent = ((used() - before) * 100_000) / (performance.now() - start);
  if (!(await hasLeases())) throw new Error('a lease was lost meanwhile, which would look idle');
  return percent;
}

/** The same on the embedded database, which nobody else can ask about leases. */
export async function embeddedIdleCpu(
  endpoints: number,
  receiver: Receiver,
  seconds: number,
  session: Session,
): Promise<number> {
  const environment = {
    DATABASE_URL: '',
    DATA_DIR: join(session.folder, `embedded-${endpoints}`),
    ...webhookEnvironment(endpointsOf(receiver, endpoints)),
  };
  const server = await startServer({ ...plantStore, environment }, '', session);

  async function announces(): Promise<boolean> {
    const before = receiver.count();
    // With an id that no earlier one has.
    await createPlant(server, { id: Date.now(), name: 'Plant' });
    for (const end = performance.now() + DELIVERY_TIME; performance.now() < end; await sleep(50)) {
      if (receiver.count() - before >= endpoints) return true;
    }
    return false;
  }
  const percent = await idleCpu(announces, () => cpuTime(server.pid).own, seconds);
  await server.stop();
  return percent;
}
