import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { errorKinds } from '../../../src/adapters/http/errors.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { judgeAnswer } from '../../simulation/answers.ts';
import type { Operation } from '../../simulation/plan.ts';
import { stateOf } from '../../simulation/run.ts';
import type { ApiClient, ApiResponse } from '../api-client.ts';
import { isPlant, newHistory, type State } from '../linearizability.ts';

/*
 * Creations, changes, deletions, reads and their late retries, racing for few ids, and purges; and whether the answers can
 * be true. Imports are in the simulation.
 */

const CLIENTS = 32;
/** Ids that are in use at a time. The requests move on, so that each is created, changed and deleted while others are. */
const WINDOW = 16;
/** Requests until the next id comes into use. */
const REQUESTS_PER_ID = 33;
/** Milliseconds between purges at most. */
const PURGE_PAUSE = 1_000;

/** The codes of errors by their numbers. */
const codes = new Map(Object.entries(errorKinds).map(([code, { error }]) => [error, code]));

/**
 * Sends requests to all instances until it is over.
 *
 * @param isOver asked before each request, with the number of those before
 * @param purge called now and then; resolves to the ids that it has freed
 */
export async function sendRandomRequests(
  clients: readonly ApiClient[],
  isOver: (requests: number) => boolean,
  purge?: () => Promise<readonly bigint[]>,
) {
  const history = newHistory();
  /** Entity tags that any client has seen, by id. */
  const etags = new Map<number, [string, State][]>();
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const judge = { plan: { postgres: undefined }, fail: (text: string) => void failures.push(text) };
  let requests = 0;

  async function sendOne(n: number): Promise<void> {
    const client = clients[n % clients.length] as ApiClient;
    const newest = Math.floor(n / REQUESTS_PER_ID) + WINDOW;
    // Some are late retries for ids that were used long ago.
    const id = randomInt(8) === 0 ? randomInt(newest) : newest - randomInt(WINDOW);
    const methods = ['POST', 'POST', 'POST', 'PUT', 'PUT', 'PUT', 'PUT', 'GET', 'GET'] as const;
    const method = methods[randomInt(methods.length)] ?? 'GET';
    const kind = randomInt(25) === 0 ? 'DELETE' : method;
    const plant = { id: BigInt(id), name: `${randomInt(3)}`, tag: 'tag' };
    const known = etags.get(id) ?? [];
    const isConditional = (kind === 'PUT' || kind === 'DELETE') && known.length > 0 && randomInt(2) === 0;
    const [ifMatch, expected] = (isConditional ? known[Math.max(0, known.length - 1 - randomInt(3))] : []) ?? [];
    const body = JSON.stringify({ ...plant, id });
    const from = history.tick();
    const response = await client.send(kind, kind === 'POST' ? '/plants' : `/plants/${id}`, {
      ...((kind === 'POST' || kind === 'PUT') && { body }),
      ifMatch,
    });
    const seen = plantIn(response);
    if (response.etag !== undefined && seen !== undefined) etags.set(id, [...known, [response.etag, stateOf(seen)]]);
    const answer = `${kind} ${response.error ?? response.status}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
    const text = `${answer} ${stateOf(plant)}${expected === undefined ? '' : ` if ${expected}`}`;
    const code = response.error === undefined ? 'ok' : (codes.get(response.error) ?? answer);
    const isOpen = response.status === 503;
    const [to, end] = [history.tick(), { at: Number.POSITIVE_INFINITY }];
    judgeAnswer(operationOf(kind, plant), { code, value: seen, expected, isOpen }, judge, {
      read: (id, is) => history.read(id, from, to, text, is),
      wrote: (id, effect) =>
        isOpen ? history.mayHaveWritten(id, from, end, text, effect) : history.wrote(id, from, to, text, effect),
    });
  }

  async function purgeOnce(freeIds: () => Promise<readonly bigint[]>): Promise<void> {
    await delay(randomInt(PURGE_PAUSE));
    const from = history.tick();
    const freed = await freeIds();
    const to = history.tick();
    for (const id of freed)
      history.wrote(id, from, to, 'purge', (before) => (before === 'deleted' ? 'absent' : undefined));
  }

  await Promise.all([
    ...Array.from({ length: CLIENTS }, async () => {
      while (!isOver(requests)) await sendOne(requests++);
    }),
    (async () => {
      while (purge !== undefined && !isOver(requests)) await purgeOnce(purge);
    })(),
  ]);
  return {
    /** How often there was each response, such as `PUT 41200`. */
    counts,
    /**
     * Why the responses and what is stored in the end cannot be what one client had seen that sent the same requests one
     * after another; a text for each id that is wrong.
     */
    contradictions(stored: readonly NewPlant[]): string[] {
      const states = new Map(stored.map((plant) => [plant.id, stateOf(plant)]));
      const [from, to] = [history.tick(), history.tick()];
      for (const id of history.ids()) {
        const state = states.get(id);
        history.read(id, from, to, `table -> ${state}`, (one) => (isPlant(one) ? one === state : state === undefined));
      }
      return [...failures, ...history.contradictions()];
    },
  };
}

function operationOf(kind: 'GET' | 'POST' | 'PUT' | 'DELETE', plant: NewPlant): Operation {
  if (kind === 'POST') return { op: 'create', plant };
  if (kind === 'PUT') return { op: 'change', plant, expected: undefined };
  const { id } = plant;
  return kind === 'DELETE' ? { op: 'delete', id, expected: undefined } : { op: 'find', id };
}

/** The plant in the body of a response. */
function plantIn({ status, body }: ApiResponse): NewPlant | undefined {
  return status === 200 ? JSON.parse(body) : undefined;
}
