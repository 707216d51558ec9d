import { failureOf } from '../../src/adapters/sqlite/file/failures.ts';
import type { UseCases } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { type Process, simulation } from './kernel.ts';
import type { Run } from './run.ts';

export interface Service {
  readonly process: Process;
  readonly cases: UseCases;
  /** Ends the connections of those that wait for a response. */
  readonly pending: Set<() => void>;
  isStopping: boolean;
  /** Ends what it waits for, as at a shutdown. */
  readonly stopWaiting: () => void;
}

/** What a process opens and closes. */
export interface Opener {
  open(process: Process): Promise<Pick<Service, 'cases' | 'stopWaiting'>>;
  /** Of a process that has ended. */
  close(process: Process): void;
}

/** Milliseconds from the end of a process to its next start. */
const RESTART = 20;

/** Milliseconds that a service may take to shut down. */
const SHUTDOWN = 500;

/** Instances of the service, each of which a supervisor starts again. */
export function supervisedServices({ plan, note, fail }: Run, { open, close }: Opener) {
  const supervisor = simulation.process('supervisor');
  const processes: Process[] = [];
  const services: (Service | undefined)[] = [];
  let starts = 0;

  function start(index: number): void {
    const process = simulation.process(`service ${index}.${++starts}`);
    process.slowness = plan.slowness;
    processes[index] = process;
    simulation.later(process, 1, () => {
      open(process).then(
        (opened) => {
          services[index] = { process, pending: new Set(), isStopping: false, ...opened };
          note(`${process.name} serves`);
        },
        (error) => {
          note(`${process.name} does not start: ${error.message}`);
          if (!(error instanceof PlantStoreError) && failureOf(error).problem === undefined) fail(error.stack);
          kill(process);
        },
      );
    });
  }

  /** Ends a process at once. @param milliseconds until the next one starts */
  function kill(process: Process, milliseconds = RESTART): void {
    if (process.isDead) return;
    note(`${process.name} ends`);
    process.isDead = true;
    const index = processes.indexOf(process);
    for (const end of services[index]?.pending ?? []) end();
    services[index] = undefined;
    // It may be in the middle of a statement.
    simulation.later(supervisor, 0, () => close(process));
    simulation.later(supervisor, milliseconds, () => start(index));
  }

  return {
    processes,
    start(): void {
      for (let index = 0; index < plan.services; index++) start(index);
    },
    kill,
    /** Lets none be slower than usual any more. */
    heal(): void {
      for (const process of processes) process.slowness = plan.slowness;
    },
    stop(index: number, milliseconds: number): void {
      const service = services[index];
      if (service === undefined || service.isStopping) return;
      service.isStopping = true;
      simulation.later(service.process, 0, service.stopWaiting);
      simulation.later(supervisor, SHUTDOWN, () => kill(service.process, milliseconds));
    },
    /** One that accepts requests. */
    serving(index: number): Service | undefined {
      const service = services[index];
      return service?.isStopping ? undefined : service;
    },
    /** In words. */
    missing: () =>
      processes.flatMap(({ frozenUntil }, index) =>
        services[index] === undefined || frozenUntil > simulation.now() ? [`service ${index}`] : [],
      ),
  };
}

export type Services = ReturnType<typeof supervisedServices>;
