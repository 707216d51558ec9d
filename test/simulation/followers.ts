import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '../../src/application/changes/log.ts';
import { isPlant, type State } from '../support/linearizability.ts';
import { codeOf, type Send } from './clients.ts';
import { randomOf, simulation } from './kernel.ts';
import { IDS } from './plan.ts';
import { type Run, stateOf } from './run.ts';

interface Position {
  readonly copy: ReadonlyMap<bigint, State>;
  readonly next: string | undefined;
  /** What it had before it started again, and has not met since. */
  readonly missing: ReadonlySet<bigint> | undefined;
}

const stateIn = (change: Change): State => ('deleted' in change ? 'deleted' : stateOf(change));

/**
 * Followers of the log of changes, which go back to what they have saved now and then. Each copy is the table at its end.
 *
 * @param isWholeSince whether nothing that others have been told was held back from them since
 */
export function followersOf(run: Run, send: Send, isWholeSince: (time: number) => boolean) {
  const { plan, history, note, fail } = run;
  /** Those that have reached the end since the last fault. */
  const atEnd = new Set<number>();

  function start(n: number): void {
    const process = simulation.process(`follower ${n}`);
    const random = randomOf(`follower ${plan.seed} ${n}`);
    let position: Position = { copy: new Map(), next: undefined, missing: undefined };
    let saved = position;

    async function step(): Promise<void> {
      const [from, asked] = [history.tick(), simulation.now()];
      const { signal } = new AbortController();
      const query = { after: position.next, limit: 1 + random.int(4), wait: random.pick([0, 0, 300, 1_500]), signal };
      const route = { service: random.int(2), latency: random.next() * 5, lost: undefined };
      const reply = await send(process, route, (cases) => cases.readChanges(query));
      const code = codeOf(reply);
      if (code === 'cursor_expired') {
        if (!run.mayExpire) fail(`${process.name} has to start again, though nothing was purged or restored`);
        note(`${process.name} starts again`);
        position = { ...position, next: undefined, missing: new Set(position.copy.keys()) };
        return;
      }
      if (typeof reply === 'string' || 'error' in reply) {
        if (!['lost', 'refused', 'store_unavailable'].includes(code))
          fail(`${process.name}: ${(Object(reply).error as Error).stack}`);
        await delay(50);
        return;
      }
      const to = history.tick();
      const { changes, next, atEnd: isAtEnd } = reply.value;
      if (changes.length > query.limit) fail(`${changes.length} changes, more than ${query.limit}`);
      if (changes.length > 0)
        note(`${process.name} reads ${changes.map((change) => `${change.id} ${stateIn(change)}`)}`);
      const copy = new Map(position.copy);
      const missing = position.missing && new Set(position.missing);
      for (const change of changes) {
        const state = stateIn(change);
        if (plan.postgres === undefined)
          history.read(change.id, from, to, `${process.name} reads ${state}`, (one) => one === state);
        missing?.delete(change.id);
        if (isPlant(state)) copy.set(change.id, state);
        else copy.delete(change.id);
      }
      if (isAtEnd) {
        for (const id of missing ?? []) copy.delete(id);
        if (isWholeSince(asked)) compare(copy, from, to);
      }
      position = { copy, next, missing: isAtEnd ? undefined : missing };
      if (random.chance(0.3)) saved = position;
      if (random.chance(0.05)) position = saved;
    }

    function compare(copy: ReadonlyMap<bigint, State>, from: number, to: number): void {
      for (const id of IDS) {
        const state = copy.get(id);
        const isSame = (one: State) => (state === undefined ? !isPlant(one) : one === state);
        history.read(id, from, to, `${process.name} is at the end with ${state}`, isSame);
      }
      if (from > run.healedAt) atEnd.add(n);
    }

    simulation.later(process, 5, async () => {
      while (!atEnd.has(n)) {
        await step();
        await delay(random.next() * 200);
      }
    });
  }

  return {
    start(): void {
      for (let n = 0; n < plan.followers; n++) start(n);
    },
    /** In words. */
    missing: () =>
      Array.from({ length: plan.followers }, (_, n) => n)
        .filter((n) => !atEnd.has(n))
        .map((n) => `the end of follower ${n}`),
  };
}
