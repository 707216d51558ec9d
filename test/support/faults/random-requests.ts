import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NewPlant } from '../../../src/domain/plant.ts';
import type { ApiClient, ApiResponse } from '../api-client.ts';
import { isPlant, newHistory, onlyIf, type State } from '../linearizability.ts';

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

const stateOf = (name: string, tag: string): State => `plant ${name} ${tag}`;

interface Sent {
  /** What the request would make of the plant. */
  readonly content: State;
  /** The plant that If-Match names. */
  readonly expected: State | undefined;
  /** The plant in the response. */
  readonly seen: State | undefined;
}

/** What each response says of the state before, and the state after it. */
const definiteOutcomes: Record<string, (before: State, sent: Sent) => State | undefined> = {
  'POST 200': (before, { content }) => (before === 'absent' || before === content ? content : undefined),
  'POST 40009': (before, { content }) => (isPlant(before) && before !== content ? before : undefined),
  'POST 40010': onlyIf((before) => before === 'deleted'),
  'GET 200': (before, { seen }) => (before === seen ? before : undefined),
  'PUT 200': (before, { content, expected }) =>
    isPlant(before) && (expected === undefined || before === expected || before === content) ? content : undefined,
  'PUT 41200': (before, { content, expected }) =>
    isPlant(before) && expected !== undefined && before !== expected && before !== content ? before : undefined,
  'DELETE 204': (before, { expected }) =>
    before === 'deleted' || (isPlant(before) && (expected === undefined || before === expected))
      ? 'deleted'
      : undefined,
  'DELETE 41200': (before, { expected }) =>
    isPlant(before) && expected !== undefined && before !== expected ? before : undefined,
  ...Object.fromEntries(
    ['GET', 'PUT', 'DELETE'].map((method) => [`${method} 40401`, onlyIf((before) => before === 'absent')]),
  ),
  ...Object.fromEntries(['GET', 'PUT'].map((method) => [`${method} 41000`, onlyIf((before) => before === 'deleted')])),
};

export const allDefinite: readonly string[] = Object.keys(definiteOutcomes).sort();

/** What may still happen, at any later time, after 503. */
const successes: Record<string, string> = { POST: 'POST 200', PUT: 'PUT 200', DELETE: 'DELETE 204' };

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
  let requests = 0;

  async function sendOne(n: number): Promise<void> {
    const client = clients[n % clients.length] as ApiClient;
    const newest = Math.floor(n / REQUESTS_PER_ID) + WINDOW;
    // Some are late retries for ids that were used long ago.
    const id = randomInt(8) === 0 ? randomInt(newest) : newest - randomInt(WINDOW);
    const methods = ['POST', 'POST', 'POST', 'PUT', 'PUT', 'PUT', 'PUT', 'GET', 'GET'] as const;
    const method = methods[randomInt(methods.length)] ?? 'GET';
    const kind = randomInt(25) === 0 ? 'DELETE' : method;
    const [name, tag] = [`${randomInt(3)}`, 'tag'];
    const known = etags.get(id) ?? [];
    const isConditional = (kind === 'PUT' || kind === 'DELETE') && known.length > 0 && randomInt(2) === 0;
    const [ifMatch, expected] = (isConditional ? known[Math.max(0, known.length - 1 - randomInt(3))] : []) ?? [];
    const body = JSON.stringify(kind === 'POST' ? { id, name, tag } : { name, tag });
    const from = history.tick();
    const response = await client.send(kind, kind === 'POST' ? '/plants' : `/plants/${id}`, {
      ...((kind === 'POST' || kind === 'PUT') && { body }),
      ifMatch,
    });
    const seen = seenIn(response);
    if (response.etag !== undefined && seen !== undefined) etags.set(id, [...known, [response.etag, seen]]);
    const answer = `${kind} ${response.error ?? response.status}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
    const sent = { content: stateOf(name, tag), expected, seen };
    const isOpen = response.status === 503;
    const effect = definiteOutcomes[(isOpen ? successes[kind] : answer) ?? ''];
    const text = `${answer} ${sent.content}${expected === undefined ? '' : ` if ${expected}`} -> ${seen ?? ''}`;
    const apply = (before: State) => effect?.(before, sent);
    if (!isOpen) history.wrote(BigInt(id), from, history.tick(), text, apply);
    else if (effect !== undefined)
      history.mayHaveWritten(BigInt(id), from, { at: Number.POSITIVE_INFINITY }, text, apply);
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
      const states = new Map(stored.map(({ id, name, tag = '' }) => [id, stateOf(name, tag)]));
      const [from, to] = [history.tick(), history.tick()];
      for (const id of history.ids()) {
        const state = states.get(id);
        history.read(id, from, to, `table -> ${state}`, (one) => (isPlant(one) ? one === state : state === undefined));
      }
      return history.contradictions();
    },
  };
}

/** The plant in the body of a response. */
function seenIn({ status, body }: ApiResponse): State | undefined {
  if (status !== 200) return undefined;
  const { name, tag } = JSON.parse(body);
  return stateOf(name, tag);
}
