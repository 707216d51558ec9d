import { clientsOf, network, PATIENCE } from './clients.ts';
import { faultsOf } from './faults.ts';
import { followersOf } from './followers.ts';
import { simulation } from './kernel.ts';
import { IDS, type Plan } from './plan.ts';
import { onPostgres } from './postgres.ts';
import { newRun, type Run } from './run.ts';
import { onSqlite } from './sqlite.ts';

/** Milliseconds in which all requests have an outcome. */
const LATEST = 600_000;

/** Milliseconds in which all must be well after the last fault: another one's lease, and the first wait of a webhook. */
const RECOVERY = 150_000;

export type Outcome = Pick<Run, 'failures' | 'log' | 'answers'> & {
  /** Equal for equal runs. */
  readonly digest: string;
};

/**
 * Runs services on one database with clients, followers and receivers of webhooks, and everything that goes wrong, and finds
 * out whether all that they saw keeps the promises of docs/.
 */
export async function simulate(plan: Plan): Promise<Outcome> {
  const run = newRun(plan);
  const { history, note, fail } = run;
  simulation.begin(`${plan.seed}`, (error) => fail(`a defect: ${(error as Error)?.stack ?? error}`));
  const world = simulation.process('world');
  const stage = plan.postgres === undefined ? onSqlite(run) : onPostgres(run, plan.postgres);
  const { services, table } = stage;
  const send = network(services, plan.services);
  const clients = clientsOf(run, send, stage.lateness);
  const followers = followersOf(run, send, stage.isWholeSince);
  const faults = faultsOf(run, stage);

  for (const one of [services, clients, followers, faults]) one.start();
  await simulation.run(LATEST, () => clients.isDone() && simulation.now() > faults.last);
  if (!clients.isDone()) fail('a client has no response');

  const missing = () => [...services.missing(), ...followers.missing(), ...stage.missing()];
  let isWell = false;
  function watch(): void {
    isWell = missing().length === 0;
    simulation.later(world, 100, watch);
  }
  simulation.later(world, 0, () => {
    note('all is well from now on');
    run.healedAt = history.tick();
    services.heal();
    stage.heal();
    watch();
  });
  await simulation.run(simulation.now() + RECOVERY, () => isWell);
  if (!isWell) fail(`not well ${RECOVERY} ms after the last fault: ${missing()} missing`);

  const last = simulation.process('the last client');
  let asked = 0;
  for (let service = 0; service < plan.services; service++) {
    for (const id of IDS) {
      simulation.later(last, 1, async () => {
        await clients.act(last, { op: 'find', id, service, latency: 1, lost: undefined });
        asked++;
      });
    }
  }
  await simulation.run(simulation.now() + PATIENCE, () => asked === plan.services * IDS.length);
  const [from, to] = [history.tick(), history.tick()];
  for (const id of IDS) {
    const state = table.stateOf(id);
    history.read(id, from, to, `the table has ${state}`, (one) => one === state);
  }
  for (const id of table.ids()) if (!IDS.includes(id)) fail(`nobody asked for ${id}`);
  for (const text of history.contradictions()) fail(text);
  for (const process of services.processes) process.isDead = true;
  stage.close();
  const { failures, log, answers } = run;
  return { failures, log, answers, digest: simulation.digest() };
}
