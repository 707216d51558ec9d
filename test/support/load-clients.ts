import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { NewPlant } from '../../src/domain/plant.ts';
import { type ApiClient, type ApiResponse, apiClient, NoResponse } from './api-client.ts';
import { untilStopped } from './eventually.ts';

/* Clients that hold each response against what they have done, and know what the table must have in the end. */

/** Longer than any outage, in milliseconds: a service that is away for so long stays away. */
const OUTAGE_MS_MAX = 120_000;

/** When it began and ended, as performance.now() counts. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface Load {
  /** How many writes have succeeded. */
  acknowledged(): number;
  /** Requests that got no response since their connection failed, and that got 503. */
  readonly unsettled: { lost: number; unavailable: number };
  /** The longest time without such a write so far. */
  longestOutage(): Outage;
  /**
   * Begins no plant any more. @returns the plants that are stored @throws AssertionError at the first response that was wrong,
   * NoResponse if a request had none for too long
   */
  stop(): Promise<readonly NewPlant[]>;
}

/** Numbers for plants, each once. */
export function* naturals(): Iterator<number> {
  for (let n = 0; ; n++) yield n;
}

/** Of each load; one sends a request at a time. */
export const CLIENTS = 16;

/**
 * Starts clients that create, change, read, list and delete plants as fast as they are answered. Each repeats a request until
 * its outcome is known.
 *
 * @param url where the service listens
 * @param numbers of the plants
 * @param pause of each client before a plant, in milliseconds
 * @param keepAlive whether connections are used for more than one request
 */
export function startLoad(url: string, numbers: Iterator<number>, { pause = 0, keepAlive = true } = {}): Load {
  const client = apiClient(url, undefined, keepAlive);
  const stored: NewPlant[] = [];
  const unsettled = { lost: 0, unavailable: 0 };
  let acknowledged = 0;
  let last = performance.now();
  let longest: Outage = { from: last, to: last };

  async function settled(...request: Parameters<ApiClient['send']>): Promise<ApiResponse> {
    const end = performance.now() + OUTAGE_MS_MAX;
    while (performance.now() < end) {
      try {
        const response = await client.send(...request);
        if (response.error !== 50300) return response;
        unsettled.unavailable++;
      } catch (error) {
        if (error instanceof NoResponse) throw error;
        unsettled.lost++;
      }
      await delay(20);
    }
    throw new NoResponse(`${request}: unavailable for ${OUTAGE_MS_MAX} ms`);
  }

  async function expectResponse(expected: Partial<ApiResponse>, ...request: Parameters<ApiClient['send']>) {
    const { etag: _, ...response } = await settled(...request);
    assert.deepEqual({ ...response, ...expected }, response, `${request}`);
    if (response.error !== undefined || request[0] === 'GET') return;
    const now = performance.now();
    if (now - last > longest.to - longest.from) longest = { from: last, to: now };
    last = now;
    acknowledged++;
  }

  /** One plant is created, once however often that is asked, and every other one is then changed and deleted. */
  async function live(n: number): Promise<void> {
    const id = (BigInt(n) * 9_007_199_254_740_993n) % 2n ** 63n;
    const [path, content] = [`/plants/${id}`, `"name":"plant ${n}","tag":"tag ${n}"}`];
    for (const _ of [1, 2]) {
      await expectResponse({ status: 200, body: `{${content}` }, 'POST', '/plants', { body: `{"id":${id},${content}` });
    }
    await expectResponse({ error: 40009 }, 'POST', '/plants', { body: `{"id":${id},"name":"another"}` });
    if (n % 2 === 0) return void stored.push({ id, name: `plant ${n}`, tag: `tag ${n}` });
    const changed = { status: 200, body: `{"id":${id},"name":"changed"}` };
    await expectResponse(changed, 'PUT', path, { body: '{"name":"changed"}' });
    await expectResponse(changed, 'GET', path);
    await expectResponse({ status: 200 }, 'GET', `/plants?limit=10&after=${id}`);
    await expectResponse({ status: 204 }, 'DELETE', path);
    await expectResponse({ error: 41000 }, 'GET', path);
  }

  const stop = untilStopped(async () => {
    if (pause > 0) await delay(pause);
    await live(numbers.next().value);
  }, CLIENTS);
  return {
    acknowledged: () => acknowledged,
    unsettled,
    longestOutage: () => longest,
    async stop() {
      await stop();
      client.close();
      return stored;
    },
  };
}
