import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { execute } from '../../../tooling/execute.ts';
import { type ApiClient, type ApiResponse, apiClient } from '../api-client.ts';
import { untilStopped } from '../eventually.ts';
import { LONGEST_OUTAGE, type Outage } from '../load-clients.ts';
import type { Service } from '../service-process.ts';
import { storedPlantsAt } from '../test-database.ts';
import { crashRounds, emptyHistory, type History } from './crash-rounds.ts';

/* Rounds of a fault of a cluster, under the load of two instances that race for the same ids and of all operations. */

/** What has been sent to a table and got an answer, in all rounds. */
export interface ClusterHistory extends History {
  /** Of the next plants that are created, changed and deleted: below zero, each once. */
  readonly ids: Iterator<bigint>;
  readonly deleted: bigint[];
}

/** A new table's. */
export function emptyClusterHistory(): ClusterHistory {
  return { ...emptyHistory(2), ids: negatives(), deleted: [] };
}

function* negatives(): Iterator<bigint> {
  for (let id = -1n; ; id--) yield id;
}

interface ClusterRounds {
  /** For the report. */
  readonly title: string;
  readonly services: readonly Service[];
  /** Of the database. */
  readonly url: string;
  readonly history: ClusterHistory;
  /** Milliseconds that each client waits before a plant. */
  readonly pause: number;
  /** Does the fault, and resolves once the cluster is whole again. */
  readonly spoil: () => Promise<unknown>;
  /** Called in each round after the outage. @param outages of each instance */
  readonly survived: (outages: readonly Outage[]) => unknown;
}

/** Does the rounds. @throws what `expect` does at the first answer that the table contradicts */
export async function clusterRounds(options: ClusterRounds): Promise<void> {
  const { title, services, url, history, pause, spoil, survived } = options;
  const urls = services.map(({ apiUrl }) => apiUrl);
  let stopAll: readonly (() => Promise<readonly bigint[]>)[] = [];
  const rounds = crashRounds({
    killed: title,
    urls,
    serviceLives: true,
    pause,
    history,
    async crash() {
      stopAll = urls.map((one) => startLifeCycles(one, history.ids, pause));
      await spoil();
    },
    async survived(outages) {
      for (const stop of stopAll) history.deleted.push(...(await stop()));
      await survived(outages);
    },
    async rows() {
      const tombstones = await execute(url, 'select id from plants where id < 0 and deleted is not null');
      expect(new Set(tombstones.map(({ id = '' }) => BigInt(id)))).toEqual(new Set(history.deleted));
      return storedPlantsAt(url);
    },
  });
  // Also after a failure.
  await rounds.finally(() => Promise.allSettled(stopAll.map((stop) => stop())));
}

const CLIENTS = 2;

/**
 * Starts clients that create, change, read, list and delete plants, whatever happens meanwhile: they repeat each request
 * until its outcome is known, and stop at the first response that is wrong.
 *
 * @param url where the service listens
 * @param pause of each client before a plant, in milliseconds
 * @returns what lets them finish those that have begun, and resolves to the ids of all plants, which are deleted
 */
function startLifeCycles(url: string, ids: Iterator<bigint>, pause: number): () => Promise<readonly bigint[]> {
  const client = apiClient(url);
  const deleted: bigint[] = [];
  const stop = untilStopped(async () => {
    await delay(pause);
    const id: bigint = ids.next().value;
    await live(client, id);
    deleted.push(id);
  }, CLIENTS);
  return async () => {
    await stop().finally(client.close);
    return deleted;
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
