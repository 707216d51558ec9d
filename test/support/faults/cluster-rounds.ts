import { expect } from '@jest/globals';
import { execute } from '../../../tooling/execute.ts';
import type { Outage } from '../load-clients.ts';
import type { Service } from '../service-process.ts';
import { storedPlantsAt } from '../test-database.ts';
import { crashRounds, emptyHistory, type History } from './crash-rounds.ts';
import { type LifeCycles, startLifeCycles } from './life-cycle-clients.ts';

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
  let lifeCycles: readonly LifeCycles[] = [];
  const rounds = crashRounds({
    killed: title,
    urls,
    serviceLives: true,
    pause,
    history,
    async crash() {
      lifeCycles = urls.map((one) => startLifeCycles(one, history.ids, pause));
      await spoil();
    },
    async survived(outages) {
      for (const one of lifeCycles) history.deleted.push(...(await one.stop()));
      await survived(outages);
    },
    async rows() {
      const tombstones = await execute(url, 'select id from plants where id < 0 and deleted is not null');
      expect(new Set(tombstones.map(({ id = '' }) => BigInt(id)))).toEqual(new Set(history.deleted));
      return storedPlantsAt(url);
    },
  });
  // Also after a failure.
  await rounds.finally(() => Promise.allSettled(lifeCycles.map((one) => one.stop())));
}
