import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { clusterRounds, emptyClusterHistory } from '../support/faults/cluster-rounds.ts';
import { type Probe, startProbe } from '../support/faults/synchronous-probe.ts';
import type { Outage } from '../support/load-clients.ts';
import { consumer, pagesOver, sorted } from '../support/plants/changes.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import type { LocalProcess } from '../support/servers/local-process.ts';
import { type PatroniCluster, type PatroniNode, patroniCluster } from '../support/servers/patroni-cluster.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { applyMigrations, storedPlantsAt } from '../support/test-database.ts';
import { agrees, resent, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * Failover on a real Patroni cluster in strict synchronous mode, behind a proxy, under the load of two instances that race
 * for the same ids. A consumer follows the changes of each instance, and starts again once after each promotion; a webhook
 * goes on.
 */

/** Milliseconds that each client waits before a plant. */
const PAUSE = 50;
/** Milliseconds that the proxy is away. */
const PROXY_ABSENCE = 3_000;
/** Long enough for the primary to step down. */
const ETCD_ABSENCE = 8_000;
/** Milliseconds for which a standby is cut off before the primary dies. */
const CUT_OFF = 1_000;

/** Milliseconds that an outage may take, beyond the time after which a primary has lost its lock. */
const RECOVERY = 5_000;
/** Milliseconds in which the service has to serve once the database commits. */
const RECONNECTION = 1_000;
/** Milliseconds by which the probe may notice later than the service that the database commits: 440 on a busy machine. */
const PROBE_DELAY = 1_000;

/** States that a fault may announce again: a page whose position was not stored, and requests that were on their way. */
const REPEATED = 200 + 32;

jest.setTimeout(60 * 60_000);

let cluster: PatroniCluster;
beforeEach(async () => {
  cluster = await patroniCluster();
  await applyMigrations(cluster.url);
});
afterEach(() => cluster.drop());

const start = async (DATABASE_URL: string, webhooks: Record<string, string>) =>
  startService(await temporaryFolder(), { DATABASE_URL, ACCESS_TOKENS: TOKEN, ...webhooks });

const faults: Record<string, () => Promise<unknown>> = {
  'the machine of the primary, SIGKILL': async () => killMachine((await cluster.nodes()).primary),
  async 'the machine of the primary, SIGSTOP'() {
    const { primary } = await cluster.nodes();
    const resume = primary.machine.freeze();
    await cluster.hasOtherPrimary(primary);
    resume();
  },
  async 'the primary, SIGKILL'() {
    const { primary } = await cluster.nodes();
    await primary.postgres.kill();
  },
  'a switchover': () => cluster.switchOver(),
  'the proxy, SIGSTOP': () => freeze(cluster.proxy, PROXY_ABSENCE),
  async 'the standby cut off, and then the machine of the primary, SIGKILL'() {
    const { primary } = await cluster.nodes();
    await cutStandbyOff();
    await delay(CUT_OFF);
    await killMachine(primary);
  },
  'etcd, SIGSTOP': () => freeze(cluster.etcd, ETCD_ABSENCE),
};

/** Of the primary; its node comes back as a standby. */
async function killMachine(primary: PatroniNode): Promise<void> {
  await primary.machine.kill();
  await cluster.hasOtherPrimary(primary);
  primary.patroni.start();
}

async function freeze(server: LocalProcess, milliseconds: number): Promise<void> {
  const resume = server.freeze();
  await delay(milliseconds);
  resume();
}

/** Has a consumer follow the feed of an instance until it is stopped, whatever happens to the database. */
function startFollower(url: string) {
  const client = apiClient(url);
  const one = consumer();
  const read = pagesOver(() => client, 1);
  let isStopped = false;

  async function run(): Promise<void> {
    while (!isStopped) {
      await one.step(read, 100).catch(async (error) => {
        if (error instanceof RangeError) throw error;
        // 503 or no response.
        await delay(100);
      });
    }
  }

  const done = run();
  // Reported by stop.
  done.catch(() => {});
  return {
    one,
    /** @throws RangeError at a response that must not be */
    async stop(): Promise<void> {
      isStopped = true;
      await done.finally(client.close);
    },
  };
}

/** Lets the primary send nothing more to its standbys, on connections that stay open. */
async function cutStandbyOff(): Promise<void> {
  const senders = await execute(cluster.url, 'select pid from pg_stat_replication');
  for (const { pid } of senders) process.kill(Number(pid), 'SIGSTOP');
}

/** The number of its timeline, which each promotion raises. */
async function timeline(): Promise<number> {
  const NUMBER = `select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int as number`;
  return Number((await execute(cluster.url, NUMBER))[0]?.number);
}

/** @param survived called in each round with the outages of both instances and the longest time without any commit */
async function faultRoundsOn(
  name: string,
  survived: (outages: readonly Outage[], withoutCommit: Outage) => void,
): Promise<void> {
  let probe: Probe | undefined;
  const before = await timeline();
  const receiver = await startReceiver();
  const startOne = () => start(cluster.url, webhooksTo(receiver.url));
  const services = [await startOne(), await startOne()];
  const followers = services.map(({ apiUrl }) => startFollower(apiUrl));
  const rounds = clusterRounds({
    title: name,
    services,
    url: cluster.url,
    history: emptyClusterHistory(),
    pause: PAUSE,
    async spoil() {
      probe = await startProbe(cluster.url);
      await faults[name]?.();
      await cluster.isWhole();
    },
    async survived(outages) {
      const withoutCommit = probe?.longestOutage() ?? { from: 0, to: 0 };
      await probe?.stop();
      survived(outages, withoutCommit);
    },
  });
  try {
    // Also after a failure.
    await rounds.finally(() => probe?.stop());
    const stored = sorted(await storedPlantsAt(cluster.url));
    for (const { one } of followers) {
      await eventually(() => linesOf(sorted(one.copy.values())) === linesOf(stored));
      expect(one.restarts()).toBeLessThanOrEqual((await timeline()) - before);
    }
    await eventually(() => agrees(receiver, stored));
    process.stdout.write(`\n${name}: ${receiver.received.length} announced, ${resent(receiver)} of them again\n`);
    expect(resent(receiver)).toBeLessThanOrEqual(REPEATED * faultRounds);
    expect(receiver.forged()).toBe(0);
  } finally {
    await Promise.all(followers.map((follower) => follower.stop()));
    await receiver.kill();
  }
}

/** Expects no outage longer than Patroni may take, or than it took on a busy machine, and a little. */
function expectShort({ from, to }: Outage, withoutCommit: Outage, delay: number): void {
  const limit = cluster.ttl * 1_000 + RECOVERY;
  expect(to - from).toBeLessThan(Math.max(limit, withoutCommit.to - withoutCommit.from + delay));
}

test.each(Object.keys(faults))('loses nothing, and serves again as soon as the cluster does: %s', async (name) => {
  await faultRoundsOn(name, (outages, withoutCommit) => {
    for (const outage of outages) {
      expectShort(outage, withoutCommit, RECONNECTION);
      expect(outage.to).toBeGreaterThan(withoutCommit.to - PROBE_DELAY);
      expect(outage.to).toBeLessThan(withoutCommit.to + RECONNECTION);
    }
  });
});
