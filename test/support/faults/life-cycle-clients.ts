import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, type ApiResponse, apiClient } from '../api-client.ts';
import { LONGEST_OUTAGE } from '../load-clients.ts';

/* Clients that create, change, read, list and delete plants with ids below zero, whatever happens meanwhile. */

export type LifeCycles = ReturnType<typeof startLifeCycles>;

const CLIENTS = 2;

/**
 * Starts clients that repeat each request until its outcome is known. They stop at the first response that is wrong.
 *
 * @param url where the service listens
 * @param pause of each client before a plant, in milliseconds
 */
export function startLifeCycles(url: string, ids: Iterator<bigint>, pause: number) {
  const client = apiClient(url);
  const deleted: bigint[] = [];
  let stopping = false;

  async function run(): Promise<void> {
    while (!stopping) {
      await delay(pause);
      const id: bigint = ids.next().value;
      await live(client, id);
      deleted.push(id);
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, run));
  // Reported by stop.
  clients.catch(() => {});
  return {
    /** Finishes those that have begun. @returns the ids of all plants, which are deleted */
    async stop(): Promise<readonly bigint[]> {
      stopping = true;
      try {
        await clients;
      } finally {
        client.close();
      }
      return deleted;
    },
  };
}

/** @throws AssertionError at a response that is wrong */
async function live(client: ApiClient, id: bigint): Promise<void> {
  const path = `/plants/${id}`;
  const expectResponse = async (expected: Partial<ApiResponse>, ...request: Parameters<ApiClient['send']>) => {
    const { etag: _, ...response } = await settled(client, ...request);
    assert.deepEqual({ ...response, ...expected }, response, `${request}`);
  };
  await expectResponse({ status: 200 }, 'POST', '/plants', { body: `{"id":${id},"name":"first"}` });
  await expectResponse({ status: 200 }, 'PUT', path, { body: '{"name":"second"}' });
  await expectResponse({ status: 200, body: `{"id":${id},"name":"second"}` }, 'GET', path);
  await expectResponse({ status: 200 }, 'GET', '/plants?limit=10');
  await expectResponse({ status: 204 }, 'DELETE', path);
  await expectResponse({ status: 410 }, 'GET', path);
}

/** The first response that is not 503. @throws AssertionError if there is none for too long */
async function settled(client: ApiClient, ...request: Parameters<ApiClient['send']>): Promise<ApiResponse> {
  const end = performance.now() + LONGEST_OUTAGE;
  for (;;) {
    try {
      const response = await client.send(...request);
      if (response.status !== 503) return response;
      assert.equal(response.error, 50300);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
    assert(performance.now() < end, `${request}: unavailable for ${LONGEST_OUTAGE} ms`);
    await delay(20);
  }
}
