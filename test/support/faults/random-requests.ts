import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NewPlant } from '../../../src/domain/plant.ts';
import type { ApiClient, ApiResponse } from '../api-client.ts';

/*
 * Creations, changes, deletions, reads and their late retries, racing for few ids, and purges; and whether the answers can
 * be true.
 */

/** The content of a plant, as a text; `absent` if there never was one. */
type State = 'absent' | 'deleted' | `plant ${string}`;

/** What a client has asked for and got, from a moment to a moment of one clock. */
interface Step {
  readonly from: number;
  /** Infinity if it may still happen, at any later time or never. */
  readonly to: number;
  /** What it is, for messages. */
  readonly text: string;
  /** The state after it; undefined if this response is wrong in the state before. */
  readonly apply: (before: State) => State | undefined;
}

const CLIENTS = 32;
/** Ids that are in use at a time. The requests move on, so that each is created, changed and deleted while others are. */
const WINDOW = 16;
/** Requests until the next id comes into use. */
const REQUESTS_PER_ID = 33;
/** Milliseconds between purges at most. */
const PURGE_PAUSE = 1_000;

const stateOf = (name: string, tag: string): State => `plant ${name} ${tag}`;

function onlyIf(condition: (before: State) => boolean) {
  return (before: State) => (condition(before) ? before : undefined);
}

function isPlant(state: State): boolean {
  return state !== 'absent' && state !== 'deleted';
}

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
  'IMPORT created': (before, { content }) => (before === 'absent' ? content : undefined),
  // It may have been created by the import itself, in an earlier attempt inside whose outcome was not known.
  'IMPORT unchanged': (before, { content }) => (before === 'absent' || before === content ? content : undefined),
  'IMPORT 40009': (before, { content }) => (isPlant(before) && before !== content ? before : undefined),
  'IMPORT 40010': onlyIf((before) => before === 'deleted'),
  'REPLACE created': (before, { content }) => (before === 'absent' ? content : undefined),
  'REPLACE unchanged': (before, { content }) => (before === 'absent' || before === content ? content : undefined),
  'REPLACE changed': (before, { content }) => (isPlant(before) ? content : undefined),
  'REPLACE 40010': onlyIf((before) => before === 'deleted'),
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
const successes: Record<string, string> = {
  POST: 'POST 200',
  PUT: 'PUT 200',
  DELETE: 'DELETE 204',
  IMPORT: 'POST 200',
  REPLACE: 'REPLACE',
};
const laterOutcomes: typeof definiteOutcomes = {
  ...definiteOutcomes,
  REPLACE: (before, { content }) => (before === 'deleted' ? undefined : content),
};

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
  const steps = new Map<number, Step[]>();
  /** Entity tags that any client has seen, by id. */
  const etags = new Map<number, [string, State][]>();
  const counts = new Map<string, number>();
  let clock = 0;
  let requests = 0;

  async function sendOne(n: number): Promise<void> {
    const client = clients[n % clients.length] as ApiClient;
    const newest = Math.floor(n / REQUESTS_PER_ID) + WINDOW;
    // Some are late retries for ids that were used long ago.
    const id = randomInt(8) === 0 ? randomInt(newest) : newest - randomInt(WINDOW);
    const methods = ['POST', 'POST', 'PUT', 'PUT', 'PUT', 'GET', 'GET', 'IMPORT', 'REPLACE'] as const;
    const method = methods[randomInt(methods.length)] ?? 'GET';
    const kind = randomInt(25) === 0 ? 'DELETE' : method;
    const [name, tag] = [`${randomInt(3)}`, 'tag'];
    const known = etags.get(id) ?? [];
    const isConditional = (kind === 'PUT' || kind === 'DELETE') && known.length > 0 && randomInt(2) === 0;
    const [ifMatch, expected] = (isConditional ? known[Math.max(0, known.length - 1 - randomInt(3))] : []) ?? [];
    const isImport = kind === 'IMPORT' || kind === 'REPLACE';
    const body = JSON.stringify(kind === 'POST' || isImport ? { id, name, tag } : { name, tag });
    const from = clock++;
    const query = `existing=${kind === 'REPLACE' ? 'replace' : 'keep'}`;
    const response = isImport
      ? await client.send('POST', `/import?${query}`, { body, type: 'application/x-ndjson' })
      : await client.send(kind, kind === 'POST' ? '/plants' : `/plants/${id}`, {
          ...((kind === 'POST' || kind === 'PUT') && { body }),
          ifMatch,
        });
    // One of more imports than there may be at once has no effect.
    if (isImport && response.status === 503 && response.body.includes('too many requests')) return;
    const seen = isImport ? undefined : seenIn(response);
    if (response.etag !== undefined && seen !== undefined) etags.set(id, [...known, [response.etag, seen]]);
    const outcome = isImport && response.status === 200 ? outcomeOf(response.body) : undefined;
    const answer = `${kind} ${outcome ?? response.error ?? response.status}`;
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
    const sent = { content: stateOf(name, tag), expected, seen };
    const isOpen = response.status === 503;
    const to = isOpen ? Number.POSITIVE_INFINITY : clock++;
    const effect = laterOutcomes[(isOpen ? successes[kind] : answer) ?? ''];
    const text = `${answer} ${sent.content}${expected === undefined ? '' : ` if ${expected}`} -> ${seen ?? ''}`;
    if (isOpen && effect === undefined) return;
    addStep(id, { from, to, text, apply: (before) => effect?.(before, sent) });
  }

  function addStep(id: number, step: Step): void {
    steps.set(id, [...(steps.get(id) ?? []), step]);
  }

  async function purgeOnce(freeIds: () => Promise<readonly bigint[]>): Promise<void> {
    await delay(randomInt(PURGE_PAUSE));
    const from = clock++;
    const freed = await freeIds();
    const to = clock++;
    const apply = (before: State) => (before === 'deleted' ? 'absent' : undefined);
    for (const id of freed) addStep(Number(id), { from, to, text: 'purge', apply });
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
      const states = new Map(stored.map(({ id, name, tag = '' }) => [Number(id), stateOf(name, tag)]));
      return [...steps].flatMap(([id, seen]) => {
        const inTheEnd = states.get(id);
        const apply = (before: State) =>
          (isPlant(before) ? before === inTheEnd : inTheEnd === undefined) ? before : undefined;
        const end = { from: clock, to: clock + 1, text: `table -> ${inTheEnd}`, apply };
        const first = firstWrong([...seen, end]);
        return first === undefined ? [] : [`id ${id}:\n${first}`];
      });
    },
  };
}

/** What became of the only record of an import. */
function outcomeOf(body: string): string {
  const { created, changed, refused } = JSON.parse(body);
  if (created > 0 || changed > 0) return created > 0 ? 'created' : 'changed';
  return refused[0]?.error ?? 'unchanged';
}

/** The plant in the body of a response. */
function seenIn({ status, body }: ApiResponse): State | undefined {
  if (status !== 200) return undefined;
  const { name, tag } = JSON.parse(body);
  return stateOf(name, tag);
}

interface Configuration {
  readonly state: State;
  /** Steps that have happened, but had no response yet at the moment that is looked at. */
  readonly ahead: ReadonlySet<Step>;
}

/**
 * Searches for an order of the steps in which each happens between its request and its response and every response is
 * right (linearizability; the method is Lowe's just-in-time linearization).
 *
 * @returns the first response that is wrong in every order, after those before it; undefined if there is none
 */
function firstWrong(steps: readonly Step[]): string | undefined {
  const events = steps
    .flatMap((step) => [
      { at: step.from, step, isResponse: false },
      { at: step.to, step, isResponse: true },
    ])
    .filter(({ at }) => at < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.at - b.at);
  const open = new Set<Step>();
  const log: string[] = [];
  let possible: Configuration[] = [{ state: 'absent', ahead: new Set() }];
  for (const { step, isResponse } of events) {
    if (!isResponse) {
      open.add(step);
      continue;
    }
    const before = possible.map(({ state }) => state);
    possible = afterResponse(possible, open, step);
    open.delete(step);
    log.push(`${step.from}-${step.to} ${step.text}`);
    if (possible.length === 0)
      return `${log.slice(-15).join('\n')}\n  wrong after ${[...new Set(before)].join(' or ')}`;
  }
  return undefined;
}

/** All that may be once this step has happened. */
function afterResponse(possible: readonly Configuration[], open: ReadonlySet<Step>, step: Step): Configuration[] {
  const numbers = new Map([...open].map((each, n) => [each, n]));
  const keyOf = ({ state, ahead }: Configuration) => `${[...ahead].map((each) => numbers.get(each)).sort()} ${state}`;
  const seen = new Set<string>();
  const result = new Map<string, Configuration>();
  const toDo = [...possible];
  for (let one = toDo.pop(); one !== undefined; one = toDo.pop()) {
    const key = keyOf(one);
    if (seen.has(key)) continue;
    seen.add(key);
    if (one.ahead.has(step)) {
      const ahead = new Set(one.ahead);
      ahead.delete(step);
      const done = { state: one.state, ahead };
      result.set(keyOf(done), done);
      continue;
    }
    for (const next of open) {
      if (one.ahead.has(next)) continue;
      const state = next.apply(one.state);
      if (state !== undefined) toDo.push({ state, ahead: new Set([...one.ahead, next]) });
    }
  }
  return [...result.values()];
}
