import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isSamePlant, type NewPlant } from '../../src/domain/plant.ts';
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
export const LONGEST_OUTAGE = 120_000;

/** Sends a plant, on a connection of its own unless an agent keeps some. @throws as `exchange` does */
export async function send(url: string, plant: NewPlant, agent = new Agent()): Promise<Answer> {
  const { id, ...rest } = plant;
  const json = `{"id":${id},${JSON.stringify(rest).slice(1)}`;
  const { status, headers, body } = await exchange(`${url}/plants`, { method: 'POST', agent }, json);
  return { plant, status, body, retryAfter: headers['retry-after'] };
}

/**
 * Of nine in a row: five new plants, two replays, one with the id of another, and one that no store may hold.
 *
 * @param rival in half of the names, for a load that races with another one
 */
function mixedPlant(n: number, rival = ''): NewPlant {
  const position = n % 9;
  const first = n - position;
  if (position === 5 || position === 6) return mixedPlant(first + position - 5, rival);
  if (position === 7) return { ...mixedPlant(first + 2, rival), name: 'another plant' };
  const name = `plant ${n}${n % 2 === 0 ? '' : rival}`;
  const plant = { id: (BigInt(n) * 9_007_199_254_740_993n) % 2n ** 63n, name, tag: `tag ${n}` };
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
 * Starts clients that send mixed plants as fast as they are answered, and each again until its outcome is known.
 *
 * @param url where the service listens
 * @param numbers of the plants
 * @param pause of each client before a plant, in milliseconds
 * @param rival see mixedPlant
 * @param keepAlive whether connections are used for more than one request
 */
export function startLoad(url: string, numbers: Iterator<number>, { pause = 0, rival = '', keepAlive = true } = {}) {
  const agent = new Agent({ keepAlive });
  const answers: Answer[] = [];
  const unsettled = { lost: 0, unavailable: 0 };
  let acknowledged = 0;
  let last = performance.now();
  let longest: Outage = { from: last, to: last };

  async function settle(plant: NewPlant): Promise<Answer> {
    const end = performance.now() + LONGEST_OUTAGE;
    while (performance.now() < end) {
      try {
        const answer = await send(url, plant, agent);
        if (answer.status !== 503) return answer;
        if (answer.retryAfter === undefined || !answer.body.includes('50300')) return answer;
        unsettled.unavailable++;
      } catch (error) {
        if (error instanceof NoResponse) throw error;
        unsettled.lost++;
      }
      await delay(20);
    }
    throw new NoResponse(`unavailable for ${LONGEST_OUTAGE} ms`);
  }

  const stop = untilStopped(async () => {
    if (pause > 0) await delay(pause);
    const answer = await settle(mixedPlant(numbers.next().value, rival));
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
