import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isSamePlant, type NewPlant } from '../../src/domain/plant.ts';
import { plantJson } from '../../src/formats/plant-json.ts';
import { exchange, NoResponse } from './api-client.ts';
import { untilStopped } from './eventually.ts';

/* Clients that remember every answer, and what the table must hold for the answers to be true. */

export interface Answer {
  readonly plant: NewPlant;
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

/** Longer than any outage, in milliseconds: a service that is away for so long stays away. */
const LONGEST_OUTAGE = 120_000;

/** Sends a request, on a connection of its own unless an agent keeps some. @throws as `exchange` does */
async function request(url: string, method: string, path: string, body?: string, agent = new Agent()) {
  const { headers, ...response } = await exchange(url + path, { method, agent }, body);
  return { ...response, retryAfter: headers['retry-after'] };
}

/** Sends a plant. @throws as `exchange` does */
export async function send(url: string, plant: NewPlant): Promise<Answer> {
  return { plant, ...(await request(url, 'POST', '/plants', plantJson(plant))) };
}

/** Each number has an id of its own, from 0 to 2^63. */
const idOf = (n: number) => (BigInt(n) * 9_007_199_254_740_993n) % 2n ** 63n;

/**
 * Of ten in a row: five new plants, two replays, one with the id of another, and one that no store may hold. The tenth
 * number is that of a life cycle.
 *
 * @param rival in half of the names, for a load that races with another one
 */
function mixedPlant(n: number, rival: number): NewPlant {
  const position = n % 10;
  const first = n - position;
  if (position === 5 || position === 6) return mixedPlant(first + position - 5, rival);
  if (position === 7) return { ...mixedPlant(first + 2, rival), name: 'another plant' };
  const name = `plant ${n}${n % 2 > 0 && rival > 0 ? ` of ${rival}` : ''}`;
  const plant = { id: idOf(n), name, tag: `tag ${n}` };
  return position === 8 ? { ...plant, name: '\0' } : plant;
}

interface Verdict {
  /** Answered 200, but not in the table, or not with exactly these contents. */
  readonly lost: readonly Answer[];
  /** Refused though the table holds them, or for another reason than what it holds; or any other answer. */
  readonly misjudged: readonly Answer[];
  /** Rows that nobody got a 200 for. */
  readonly unasked: readonly NewPlant[];
}

/** Holds the final answers to everything that was ever sent against the whole table. */
export function judge(answers: readonly Answer[], rows: readonly NewPlant[]): Verdict {
  const stored = new Map(rows.map((row) => [row.id, row]));
  const wrong = answers.filter(({ plant, status, body }) => {
    const row = stored.get(plant.id);
    if (row === undefined) return status !== 400 || !body.includes('40022');
    const { id: _, ...rest } = plant;
    if (isSamePlant(row, plant)) return status !== 200 || body !== JSON.stringify(rest);
    return status !== 400 || !body.includes('40009');
  });
  const acknowledged = new Set(answers.filter(({ status }) => status === 200).map(({ plant }) => plant.id));
  return {
    lost: wrong.filter(({ status }) => status === 200),
    misjudged: wrong.filter(({ status }) => status !== 200),
    // Also one that stands there twice: its index would have to be damaged.
    unasked: rows.filter((row) => !acknowledged.has(row.id) || stored.get(row.id) !== row),
  };
}

export const faultless: Verdict = { lost: [], misjudged: [], unasked: [] };

/** When it began and ended, as performance.now() counts. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export type Load = ReturnType<typeof startLoad>;

/** Numbers for plants, each once. */
export function* naturals(): Iterator<number> {
  for (let n = 0; ; n++) yield n;
}

/** Of each load; one sends a request at a time. */
export const CLIENTS = 16;

/**
 * Starts clients that send mixed plants as fast as they are answered, and each again until its outcome is known. Now and
 * then one creates a plant that it then changes, reads and deletes.
 *
 * @param url where the service listens
 * @param numbers of the plants
 * @param pause of each client before a plant, in milliseconds
 * @param rival the number of the load among those that race for the same ids
 * @param keepAlive whether connections are used for more than one request
 */
export function startLoad(url: string, numbers: Iterator<number>, { pause = 0, rival = 0, keepAlive = true } = {}) {
  const agent = new Agent({ keepAlive });
  const answers: Answer[] = [];
  const unsettled = { lost: 0, unavailable: 0 };
  let acknowledged = 0;
  let last = performance.now();
  let longest: Outage = { from: last, to: last };

  async function settle(method: string, path: string, body?: string): Promise<Omit<Answer, 'plant'>> {
    const end = performance.now() + LONGEST_OUTAGE;
    while (performance.now() < end) {
      try {
        const response = await request(url, method, path, body, agent);
        if (response.status !== 503) return response;
        if (response.retryAfter === undefined || !response.body.includes('50300')) return response;
        unsettled.unavailable++;
      } catch (error) {
        if (error instanceof NoResponse) throw error;
        unsettled.lost++;
      }
      await delay(20);
    }
    throw new NoResponse(`unavailable for ${LONGEST_OUTAGE} ms`);
  }

  /** Of a plant that nobody else knows. @throws AssertionError at a response that is wrong */
  async function live(id: bigint): Promise<void> {
    const path = `/plants/${id}`;
    const second = plantJson({ id, name: 'second' });
    const requests: [status: number, method: string, target: string, body?: string | undefined, response?: string][] = [
      [200, 'POST', '/plants', plantJson({ id, name: 'first' })],
      [200, 'PUT', path, '{"name":"second"}', second],
      [200, 'GET', path, undefined, second],
      [200, 'GET', '/plants?limit=10'],
      [204, 'DELETE', path],
      [410, 'GET', path],
    ];
    for (const [status, method, target, body, response] of requests) {
      const got = await settle(method, target, body);
      assert.deepEqual([method, target, got.status, response && got.body], [method, target, status, response]);
    }
  }

  const stop = untilStopped(async () => {
    if (pause > 0) await delay(pause);
    const n: number = numbers.next().value;
    if (n % 10 === 9) return live(-idOf(n) - BigInt(rival));
    const plant = mixedPlant(n, rival);
    const answer = { plant, ...(await settle('POST', '/plants', plantJson(plant))) };
    answers.push(answer);
    if (answer.status !== 200) return;
    const now = performance.now();
    if (now - last > longest.to - longest.from) longest = { from: last, to: now };
    last = now;
    acknowledged++;
  }, CLIENTS);
  return {
    /** How many requests got 200. */
    acknowledged: () => acknowledged,
    /** Requests that got no answer since their connection failed, and that got 503. */
    unsettled,
    /** The longest time without a 200 so far. */
    longestOutage: () => longest,
    /** Sends nothing new, and resolves to all answers. @throws NoResponse if a request has none for too long */
    async stop(): Promise<Answer[]> {
      await stop();
      agent.destroy();
      return answers;
    },
  };
}
