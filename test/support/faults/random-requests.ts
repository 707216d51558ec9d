import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { errorKinds } from '../../../src/adapters/http/errors.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { execute } from '../../../tooling/execute.ts';
import { judgeAnswer } from '../../simulation/answers.ts';
import type { Operation } from '../../simulation/plan.ts';
import { stateOf } from '../../simulation/run.ts';
import { type ApiClient, type ApiResponse, NoResponse } from '../api-client.ts';
import { untilStopped } from '../eventually.ts';
import { isPlant, newHistory, type State } from '../linearizability.ts';
import { connect, purgeOn } from '../test-database.ts';

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
const PURGE_PAUSE_MS_MAX = 1_000;
/** Seconds since a deletion until its id is freed: as an hour is for a service, longer than any statement is late. */
const PURGE_AGE_S = 8;
/** What a request gets whose connection fails, as nobody knows what became of it either. */
const LOST: ApiResponse = { status: 503, error: undefined, body: '', etag: undefined };
/** Milliseconds until a client whose connection has failed sends its next request. */
const LOST_PAUSE_MS = 500;

/** The codes of errors by their numbers. */
const codes = new Map(Object.entries(errorKinds).map(([code, { error }]) => [error, code]));

/**
 * Sends requests to all instances until it is stopped.
 *
 * @param purge called now and then; resolves to the ids that it has freed
 */
export function startRandomRequests(
  clients: readonly ApiClient[],
  purge: () => Promise<readonly bigint[]> = async () => [],
) {
  const history = newHistory();
  /** Entity tags that any client has seen, by id. */
  const etags = new Map<number, [string, State][]>();
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const judge = { plan: { postgres: undefined }, fail: (text: string) => void failures.push(text) };
  let [requests, purged] = [0, 0];

  async function sendOne(): Promise<void> {
    const n = requests++;
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
    const content = { ...((kind === 'POST' || kind === 'PUT') && { body }), ifMatch };
    const sending = client.send(kind, kind === 'POST' ? '/plants' : `/plants/${id}`, content);
    const response = await sending.catch(orLost);
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

  async function purgeOnce(): Promise<void> {
    await delay(randomInt(PURGE_PAUSE_MS_MAX));
    const from = history.tick();
    const freed = await purge();
    const to = history.tick();
    purged += freed.length;
    for (const id of freed)
      history.wrote(id, from, to, 'purge', (before) => (before === 'deleted' ? 'absent' : undefined));
  }

  const stops = [untilStopped(sendOne, CLIENTS), untilStopped(purgeOnce)];
  return {
    /** How often there was each response, such as `PUT 41200`; `PUT 503` is one whose connection has failed. */
    counts,
    sent: () => requests,
    /** How many ids have been freed. */
    purged: () => purged,
    stop: () => Promise.all(stops.map((stop) => stop())),
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

/** @throws NoResponse if it is that: a service that goes on responds to each request */
async function orLost(error: unknown): Promise<ApiResponse> {
  if (error instanceof NoResponse) throw error;
  await delay(LOST_PAUSE_MS);
  return LOST;
}

/** What purges a database. @returns the ids that this has freed */
export function purgeOf(url: string): () => Promise<bigint[]> {
  const forget = purgeOn(connect(url));
  const tombstones = () => execute(url, 'select id, deleted::text from plants where deleted is not null');
  return async () => {
    const before = await tombstones();
    for await (const _ of forget({ minAge: PURGE_AGE_S, id: undefined }, false));
    // A plant that has got the id of another one since may be deleted by now, too.
    const after = new Map((await tombstones()).map(({ id, deleted }) => [id, deleted]));
    return before.flatMap(({ id = '', deleted }) => (after.get(id) === deleted ? [] : [BigInt(id)]));
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
