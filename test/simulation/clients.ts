import { setTimeout as delay } from 'node:timers/promises';
import type { UseCases } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { type NewPlant, validatePlant } from '../../src/domain/plant.ts';
import { fingerprintOf, type Precondition } from '../../src/domain/precondition.ts';
import { judgeAnswer } from './answers.ts';
import { type Process, simulation } from './kernel.ts';
import { IDS, type Operation, type Route } from './plan.ts';
import { ROW_REFUSED } from './postgres-server.ts';
import { type Run, stateOf } from './run.ts';
import type { Services } from './services.ts';

/** Milliseconds until a client takes a request for lost. */
export const PATIENCE = 3_000;

export type Reply<T> = { readonly value: T } | { readonly error: unknown } | 'refused' | 'lost';

/**
 * How requests reach services, and responses clients.
 *
 * @param onEnd called once the service cannot do anything about it any more
 */
export function network(services: Services, count: number) {
  return <T>(
    client: Process,
    { service: number, latency, lost }: Route,
    work: (cases: UseCases) => Promise<T>,
    onEnd = () => {},
  ) =>
    new Promise<Reply<T>>((resolve) => {
      const patience = simulation.later(client, PATIENCE, () => resolve('lost'));
      const reply = (one: Reply<T>) =>
        simulation.later(client, latency, () => {
          patience.isOver = true;
          resolve(one);
        });
      if (lost === 'request') return onEnd();
      const service = services.serving(number % count);
      if (service === undefined) return void reply('refused');
      const { process, cases, pending } = service;
      const cut = () => {
        onEnd();
        reply('lost');
      };
      pending.add(cut);
      simulation.later(process, latency, () => {
        const done = (one: Reply<T>) => {
          if (!pending.delete(cut)) return;
          onEnd();
          if (!process.isDead && lost !== 'response') reply(one);
        };
        work(cases).then(
          (value) => done({ value }),
          (error) => done({ error }),
        );
      });
    });
}

export type Send = ReturnType<typeof network>;

/** The code of an answer, in one word. */
export function codeOf(reply: Reply<unknown>): string {
  if (typeof reply === 'string') return reply;
  if ('value' in reply) return 'ok';
  const { error } = reply;
  if (error instanceof PlantStoreError) return error.code;
  return Object(error).code === ROW_REFUSED ? 'refused row' : 'defect';
}

/** @param lateness milliseconds for which a statement may be on its way once its service has given it up */
export function clientsOf(run: Run, send: Send, lateness: number) {
  const { plan, history, answers, note, fail } = run;
  const time = simulation.process('time');
  /** Plants that somebody has seen, for conditions. */
  const seen = new Map<bigint, NewPlant[]>(IDS.map((id) => [id, []]));
  let left = 0;

  async function act(client: Process, sent: Route & Operation): Promise<void> {
    const from = history.tick();
    const expected = expectedIn(sent);
    const precondition = expected && { matches: [fingerprintOf(expected)] };
    const text = describe(sent, expected);
    const end = { at: Number.POSITIVE_INFINITY };
    const onEnd = () => void simulation.later(time, lateness, () => (end.at = history.tick()));
    const reply = await send<unknown>(client, sent, (cases) => perform(cases, sent, precondition), onEnd);
    const code = codeOf(reply);
    const key = `${sent.op} ${code}`;
    answers.set(key, (answers.get(key) ?? 0) + 1);
    note(`${client.name}: ${text} -> ${code}`);
    if (code === 'defect') fail(`${text}: ${(reply as { error: Error }).error.stack}`);
    if (code === 'store_unavailable' && !run.hasFaults) fail(`${text} -> ${code}, though nothing is wrong`);
    const isChange = sent.op === 'change' || sent.op === 'delete';
    if (code === 'refused' || (code === 'refused row' && isChange)) return;
    // Of an INSERT, perhaps only the last attempt was refused.
    const isOpen = code === 'lost' || code === 'store_unavailable' || code === 'refused row';
    const value = typeof reply === 'object' && 'value' in reply ? reply.value : undefined;
    const to = history.tick();
    const plants = judgeAnswer(sent, { code, value, expected: expected && stateOf(expected), isOpen }, run, {
      read: (id, is) => isOpen || history.read(id, from, to, `${text} -> ${code}`, is),
      wrote: (id, effect) =>
        isOpen ? history.mayHaveWritten(id, from, end, text, effect) : history.wrote(id, from, to, text, effect),
    });
    for (const plant of plants) seen.get(plant.id)?.push(plant);
  }

  function expectedIn(sent: Operation): NewPlant | undefined {
    if (!('expected' in sent) || sent.expected === undefined) return undefined;
    const known = seen.get('id' in sent ? sent.id : sent.plant.id) ?? [];
    return known[Math.max(0, known.length - 1 - sent.expected)];
  }

  return {
    act,
    /** Each does its requests one after another. */
    start(): void {
      const requests = plan.events.filter((event) => 'client' in event);
      for (const [n, own] of Map.groupBy(requests, ({ client }): number => client)) {
        const client = simulation.process(`client ${n}`);
        left++;
        simulation.later(client, 10, async () => {
          for (const sent of own) {
            await delay(plan.beat === 0 ? sent.pause : plan.beat - (simulation.now() % plan.beat));
            await act(client, sent);
          }
          left--;
        });
      }
    },
    isDone: () => left === 0,
  };
}

function perform(cases: UseCases, sent: Operation, precondition?: Precondition): Promise<unknown> {
  if (sent.op === 'create') return cases.createPlant(sent.plant);
  if (sent.op === 'change') return cases.changePlant(sent.plant, precondition);
  if (sent.op === 'delete') return cases.deletePlant(sent.id, precondition);
  if (sent.op === 'find') return cases.findPlant(sent.id);
  if (sent.op === 'import') return cases.importPlants(sent.list.map(validatePlant), sent);
  return cases.listPlants(sent);
}

function describe(sent: Operation, expected: NewPlant | undefined): string {
  const { op } = sent;
  const condition = expected === undefined ? '' : ` if ${stateOf(expected)}`;
  if (op === 'list') return `${op} ${sent.limit} after ${sent.after ?? ''} ${sent.order}`;
  if (op === 'delete' || op === 'find') return `${op} ${sent.id}${condition}`;
  const plants = op === 'import' ? sent.list : [sent.plant];
  return `${op} ${plants.map((one) => `${one.id} ${stateOf(one)}`)}${condition}`;
}
