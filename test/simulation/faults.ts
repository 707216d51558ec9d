import { simulation } from './kernel.ts';
import type { Fault } from './plan.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';
import type { Table } from './table.ts';

/** Services on a database, and what only this kind of database has. */
export interface Stage {
  readonly services: Services;
  readonly table: Table;
  /** Milliseconds for which a statement may be on its way once its service has given it up. */
  readonly lateness: number;
  inject(fault: Fault, service: number): void;
  /** Ends what lasts. */
  heal(): void;
  /** Whether nothing that clients have been told was held back from followers since. */
  isWholeSince(time: number): boolean;
  /** What is not well yet, in words. */
  missing(): readonly string[];
  close(): void;
}

/** The `slowness` of a slow process. */
const SLOW = 2;

/** What goes wrong at its time. */
export function faultsOf(run: Run, { services, inject }: Pick<Stage, 'services' | 'inject'>) {
  const world = simulation.process('world');
  const events = run.plan.events.filter((event) => 'fault' in event);

  function injectNow(fault: Fault, service: number): void {
    const process = services.processes[service];
    if (fault.fault === 'clock') {
      simulation.wallClock += fault.jump;
      run.isClockSteady = false;
    } else if (process === undefined || process.isDead) return;
    else if (fault.fault === 'kill') services.kill(process, fault.milliseconds);
    else if (fault.fault === 'stop') services.stop(service, fault.milliseconds);
    else if (fault.fault === 'freeze') process.frozenUntil = simulation.now() + fault.milliseconds;
    else if (fault.fault === 'slow') {
      process.slowness = SLOW;
      simulation.later(world, fault.milliseconds, () => (process.slowness = run.plan.slowness));
    } else inject(fault, service);
  }

  return {
    start(): void {
      for (const event of events) {
        simulation.later(world, event.at, () => {
          run.note(`fault: ${JSON.stringify(event)}`);
          injectNow(event, event.service);
        });
      }
    },
    /** When the last of them is. */
    last: Math.max(0, ...events.map((event) => event.at + (event.fault === 'restore' ? event.milliseconds : 0))),
  };
}
