import { isAfter } from '../../src/application/changes/cursor.ts';
import type { Delivery } from '../../src/application/webhooks/deliver-to-endpoint.ts';
import { deliverWebhooks } from '../../src/application/webhooks/deliver-webhooks.ts';
import type { DeliveryObserver, KeepPositions, Send } from '../../src/application/webhooks/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { State } from '../support/linearizability.ts';
import { type Process, randomOf, simulation } from './kernel.ts';
import type { MemoryDatabase } from './memory-database.ts';
import type { Trouble } from './plan.ts';
import { type Run, stateOf } from './run.ts';
import type { Table } from './table.ts';

/** Milliseconds after which the sender takes a request for lost. */
const NO_RESPONSE = 15_000;

interface Receiver {
  readonly process: Process;
  /** Its copy of the plants, by the rule of webhook-id. */
  copy: Map<bigint, { readonly changed: bigint; readonly state: State }>;
  /** The changes that it has acknowledged or may have. */
  got: Set<string>;
  trouble: Trouble | undefined;
  troubleEnd: number;
}

/** Receivers of webhooks; each checks that it gets everything, in order, from one service at a time. */
export function webhookReceivers(run: Run, table: Table, database: MemoryDatabase) {
  const { plan, note, fail } = run;
  const network = randomOf(`webhooks ${plan.seed}`);
  const names = Array.from({ length: plan.endpoints }, (_, n) => `endpoint ${n}`);
  const newReceiver = (name: string): Receiver => {
    return { process: simulation.process(name), copy: new Map(), got: new Set(), trouble: undefined, troubleEnd: 0 };
  };
  const receivers = new Map(names.map((name) => [name, newReceiver(name)]));
  const receiverOf = (name: string) => receivers.get(name) as Receiver;
  const holders = new Map<string, Process>();
  const inFlight = new Set<string>();

  function watched(positions: KeepPositions, process: Process): KeepPositions {
    return {
      ...positions,
      async take(held, milliseconds) {
        const outcomes = await positions.take(held, milliseconds);
        for (const lease of outcomes.values()) if (typeof lease === 'object') holders.set(lease.holder, process);
        return outcomes;
      },
      async advance(lease, position) {
        const isAdvanced = await positions.advance(lease, position);
        const { got } = receiverOf(lease.endpoint);
        for (const { id, changed } of isAdvanced ? table.plants() : []) {
          if (isAfter({ changed, id }, position) || got.has(`${changed} ${id}`)) continue;
          fail(`${lease.endpoint} is set behind change ${changed} of ${id}, which it has not got`);
        }
        return isAdvanced;
      },
    };
  }

  function check(process: Process, name: string, { id, changed }: Parameters<Send>[1]): void {
    const lease = database.leaseOf(name);
    const holder = holders.get(`${lease?.holder}`);
    if (run.isClockSteady && holder !== undefined && holder !== process && !holder.isDead)
      fail(`${process.name} sends to ${name}, whose lease ${holder.name} has`);
    if (run.isClockSteady && holder === process && Number(lease?.expires) < Date.now() + NO_RESPONSE)
      fail(`${process.name} begins a request to ${name} that may outlast its lease`);
    if (inFlight.has(`${process.name} ${name} ${id}`)) fail(`${name} gets two requests for ${id} at the same time`);
    if (run.isClockSteady && changed < (receiverOf(name).copy.get(id)?.changed ?? 0n))
      fail(`${name} gets ${id} as it was before`);
  }

  function sender(process: Process, stop: AbortSignal): Send {
    return (name, message) =>
      new Promise((resolve) => {
        const { id, changed, plant } = message;
        const [receiver, state] = [receiverOf(name), stateOf(plant)];
        const key = `${process.name} ${name} ${id}`;
        const epoch = database.epoch();
        check(process, name, message);
        inFlight.add(key);
        const settle = (failure: Awaited<ReturnType<Send>>) => {
          inFlight.delete(key);
          resolve(failure);
        };
        const answer = (failure: Awaited<ReturnType<Send>>) =>
          simulation.later(process, network.next() * 20, () => settle(failure));
        const deadline = simulation.later(process, NO_RESPONSE, () => settle({ reason: 'no response' }));
        stop.addEventListener('abort', () => settle({ reason: 'broken off' }), { once: true });
        simulation.later(receiver.process, network.next() * network.pick([1, 1, 1, 200]), () => {
          const trouble = receiver.troubleEnd > simulation.now() ? receiver.trouble : undefined;
          note(`${name} gets ${id} ${state} (${changed})${trouble === undefined ? '' : `: ${trouble}`}`);
          // The connection of a request from before a restore is closed.
          if (trouble === 'silence' || database.epoch() !== epoch) return;
          deadline.isOver = true;
          if (trouble === '500' || trouble === 'gone') {
            answer({ reason: trouble, isGone: trouble === 'gone' });
            return;
          }
          if (!table.wasWritten(changed, id, state)) fail(`${name} gets what ${id} never was`);
          receiver.got.add(`${changed} ${id}`);
          if (changed >= (receiver.copy.get(id)?.changed ?? 0n)) receiver.copy.set(id, { changed, state });
          answer(trouble && { reason: trouble });
        });
      });
  }

  return {
    names,
    /** @returns a function that ends it */
    deliver(process: Process, feed: Delivery['feed'], positions: KeepPositions): () => void {
      const end = new AbortController();
      const observer: DeliveryObserver = {
        delivered() {},
        failed: (name, { reason, failures }) => note(`${process.name}: ${name} failed (${failures}): ${reason}`),
        interrupted(error) {
          if (!(error instanceof PlantStoreError)) fail(`webhooks are interrupted: ${(error as Error).stack}`);
        },
      };
      const send = sender(process, end.signal);
      const delivery = { feed, positions: watched(positions, process), send, beginWave: () => 32, observer };
      if (names.length > 0) void deliverWebhooks(delivery, end.signal);
      return () => end.abort();
    },
    trouble: (name: string, trouble: Trouble, milliseconds: number) =>
      Object.assign(receiverOf(name), { trouble, troubleEnd: simulation.now() + milliseconds }),
    /** It is to get all again. */
    rewound: (name: string) => receiverOf(name).got.clear(),
    /** @returns a function that brings all back to what they have now */
    snapshot(): () => void {
      const saved = [...receivers.values()].map((one) => ({ one, copy: new Map(one.copy), got: new Set(one.got) }));
      return () => {
        for (const { one, copy, got } of saved) Object.assign(one, { copy: new Map(copy), got: new Set(got) });
      };
    },
    calm(): void {
      for (const receiver of receivers.values()) receiver.troubleEnd = 0;
    },
    /** In words. */
    missing: () =>
      [...receivers].flatMap(([name, { copy, got }]) =>
        table
          .plants()
          .filter(({ id, state, changed }) => copy.get(id)?.state !== state || !got.has(`${changed} ${id}`))
          .map(({ id }) => `${id} at ${name}`),
      ),
  };
}

export type Receivers = ReturnType<typeof webhookReceivers>;
