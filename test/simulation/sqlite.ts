import { plantPurge } from '../../src/adapters/sql/changes/purge.ts';
import { webhookEndpoints } from '../../src/adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../../src/adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../../src/adapters/sql/webhooks/positions.ts';
import { commandFileOn } from '../../src/adapters/sqlite/command-file.ts';
import { databaseOn } from '../../src/adapters/sqlite/file/database.ts';
import { useCases } from '../../src/application/use-cases.ts';
import { plantsOn } from '../../src/bootstrap/plants.ts';
import { simulatedDisk } from './disk.ts';
import type { Stage } from './faults.ts';
import { type Process, simulation } from './kernel.ts';
import { type MemoryDatabase, memoryDatabase } from './memory-database.ts';
import { IDS } from './plan.ts';
import type { Run } from './run.ts';
import { type Opener, supervisedServices } from './services.ts';
import { observedTable } from './table.ts';
import { type Receivers, webhookReceivers } from './webhooks.ts';

/** Milliseconds until a process ends whose disk has failed. */
const LAST_RESPONSES = 100;

export function onSqlite(run: Run): Stage {
  const { history, plan, note, fail } = run;
  const kill = (process: Process) => services.kill(process);
  const disk = simulatedDisk(plan.seed, { kill, note, fail, onCommit });
  const database = memoryDatabase(disk);
  const table = observedTable(run, database.rows, true);
  const receivers = webhookReceivers(run, table, database);
  const services = supervisedServices(run, opener(run, database, receivers, kill));
  const operator = commands(database);

  function onCommit(): void {
    const [from, deleted] = [history.tick(), table.ids().filter((id) => table.stateOf(id) === 'deleted')];
    table.update();
    database.noteLeases();
    const to = history.tick();
    for (const id of deleted.filter((id) => table.stateOf(id) === 'absent')) {
      run.mayExpire = true;
      history.wrote(id, from, to, 'purge', (state) => (state === 'deleted' ? 'absent' : undefined));
    }
  }

  /** @param last the number of the last change in the backup */
  function restore(address: string, last: bigint, bringBackReceivers: () => void): void {
    for (const process of services.processes) kill(process);
    operator.killAll();
    const from = history.tick();
    database.restore(address);
    table.setBack(last);
    bringBackReceivers();
    const to = history.tick();
    for (const id of IDS) {
      const state = table.stateOf(id);
      history.wrote(id, from, to, `restore of ${state}`, () => state);
    }
    run.mayExpire = true;
  }

  return {
    services,
    table,
    lateness: 0,
    inject(fault, service) {
      const process = services.processes[service];
      const endpoint = receivers.names['endpoint' in fault ? fault.endpoint : 0];
      if (fault.fault === 'disk' && process !== undefined) disk.disturb(process, fault.what, fault.milliseconds);
      else if (fault.fault === 'purge') operator.purge(fault.minAge);
      // Once the endpoints are entered.
      else if (fault.fault === 'restore' && services.missing().length === 0) {
        const backup = [database.backUp(), table.last(), receivers.snapshot()] as const;
        simulation.later(operator.process, fault.milliseconds, () => restore(...backup));
      } else if (endpoint === undefined) return;
      else if (fault.fault === 'receiver') receivers.trouble(endpoint, fault.trouble, fault.milliseconds);
      else if (fault.fault === 'resume') operator.resume(endpoint);
      else if (fault.fault === 'rewind') operator.rewind(endpoint, () => receivers.rewound(endpoint));
    },
    heal(): void {
      disk.calm();
      receivers.calm();
      for (const endpoint of database.failing()) operator.resume(endpoint);
    },
    isWholeSince: () => true,
    missing: receivers.missing,
    close: database.close,
  };
}

/** The service, as bootstrap/sqlite-store.ts and bootstrap/app.ts put it together. */
function opener(
  { plan: { timeout } }: Run,
  database: MemoryDatabase,
  receivers: Receivers,
  kill: (process: Process) => void,
): Opener {
  const connections = new Map<Process, ReturnType<MemoryDatabase['connect']>>();
  return {
    async open(process) {
      const sql = database.connect();
      connections.set(process, sql);
      const end = () => void setTimeout(kill, LAST_RESPONSES, process);
      const file = databaseOn(sql, { path: 'memory', timeout, lostFile: () => undefined, end });
      await file.run('writes', (session) => enterEndpoints(session, receivers.names));
      const store = plantsOn(file, { timeout, maxRunning: 1 });
      const endDelivery = receivers.deliver(process, store, webhookPositions(file.run, receivers.names));
      return {
        cases: useCases(store),
        stopWaiting(): void {
          store.stopWaiting();
          endDelivery();
        },
      };
    },
    close: (process) => connections.get(process)?.close(),
  };
}

/** Operators' commands beside the services. */
function commands(database: MemoryDatabase) {
  const running = new Set<Process>();

  function start(name: string, work: (file: ReturnType<typeof commandFileOn>) => Promise<unknown>): void {
    const process = simulation.process(name);
    running.add(process);
    simulation.later(process, 0, async () => {
      const sql = database.connect();
      await work(commandFileOn(sql));
      sql.close();
    });
  }

  return {
    process: simulation.process('operator'),
    /** @param minAge seconds */
    purge(minAge: number): void {
      start('purge', async (file) => {
        for await (const _count of plantPurge(file.run)({ minAge, id: undefined }, false));
      });
    },
    resume: (endpoint: string) => start('resume', (file) => webhookEndpoints(file.run).resume(endpoint)),
    rewind: (endpoint: string, onDone: () => void) =>
      start('rewind', (file) => webhookEndpoints(file.run).rewind(endpoint).then(onDone)),
    killAll(): void {
      for (const process of running) process.isDead = true;
    },
  };
}
