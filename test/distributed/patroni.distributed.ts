import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { migrateUp } from '../../src/adapters/postgres/schema/migrator.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { clusterRounds, emptyClusterHistory } from '../support/faults/cluster-rounds.ts';
import { type Probe, startProbe } from '../support/faults/synchronous-probe.ts';
import { type Outage, send } from '../support/load-clients.ts';
import { sorted } from '../support/plants/changes.ts';
import { type RunningFollower, startFollower } from '../support/plants/followers.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import { type PatroniCluster, type PatroniNode, patroniCluster } from '../support/servers/patroni-cluster.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { connect, storedPlantsAt } from '../support/test-database.ts';
import { agrees, resent, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * Failover on a real Patroni cluster in strict synchronous mode, behind a proxy, under the load of two instances that race
 * for the same ids. A consumer follows the changes of each instance, and never has to start again; nor does a webhook.
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
/** Milliseconds by which the probe may notice later than the service that the database commits. */
const PROBE_DELAY = 250;

/** States that a fault may announce again: a page whose position was not stored, and requests that were on their way. */
const REPEATED = 200 + 32;

let cluster: PatroniCluster;
beforeEach(async () => {
  cluster = await patroniCluster();
  const database = connect(cluster.url);
  await migrateUp(database);
  await database.close();
}, 240_000);
afterEach(() => cluster.drop());

const start = async (DATABASE_URL = cluster.url, webhooks: Record<string, string> = {}) =>
  startService(await temporaryFolder(), { DATABASE_URL, ACCESS_TOKENS: TOKEN, ...webhooks });

const PRIMARY_KILLED = 'the machine of the primary, SIGKILL';
const PRIMARY_FROZEN = 'the machine of the primary, SIGSTOP';
const SWITCHOVER = 'a switchover';

const faults: Record<string, () => Promise<unknown>> = {
  async [PRIMARY_KILLED]() {
    const { primary } = await cluster.nodes();
    await primary.machine.kill();
    await cluster.hasOtherPrimary(primary);
    primary.patroni.start();
  },
  async [PRIMARY_FROZEN]() {
    const { primary } = await cluster.nodes();
    const resume = primary.machine.freeze();
    await cluster.hasOtherPrimary(primary);
    resume();
  },
  async 'the primary, SIGKILL'() {
    const { primary } = await cluster.nodes();
    await primary.postgres.kill();
  },
  [SWITCHOVER]: () => cluster.switchOver(),
  async 'the proxy, SIGSTOP'() {
    const resume = cluster.proxy.freeze();
    await delay(PROXY_ABSENCE);
    resume();
  },
  async 'the standby cut off, and then the machine of the primary, SIGKILL'() {
    const { primary } = await cluster.nodes();
    await cutStandbyOff();
    await delay(CUT_OFF);
    await primary.machine.kill();
    await cluster.hasOtherPrimary(primary);
    primary.patroni.start();
  },
  async 'etcd, SIGSTOP'() {
    const resume = cluster.etcd.freeze();
    await delay(ETCD_ABSENCE);
    resume();
  },
};

/** Lets the primary send nothing more to its standbys, on connections that stay open. */
async function cutStandbyOff(): Promise<void> {
  const senders = await execute(cluster.url, 'select pid from pg_stat_replication');
  for (const { pid } of senders) process.kill(Number(pid), 'SIGSTOP');
}

/**
 * @param url of the database, for both instances
 * @param title for the report
 * @param survived called in each round with the outages of both instances and the longest time without any commit
 */
async function faultRoundsOn(
  url: string,
  name: string,
  title: string,
  survived: (outages: readonly Outage[], withoutCommit: Outage) => void,
): Promise<void> {
  let probe: Probe | undefined;
  const receiver = await startReceiver();
  const services = [await start(url, webhooksTo(receiver.url)), await start(url, webhooksTo(receiver.url))];
  const followers = services.map(({ apiUrl }) => startFollower(apiUrl));
  const rounds = clusterRounds({
    title,
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
    const lines = ({ copy }: RunningFollower) => linesOf(sorted(copy.values()));
    for (const follower of followers) await eventually(() => lines(follower) === linesOf(stored));
    expect(followers.map((follower) => follower.restarts())).toEqual(followers.map(() => 0));
    await eventually(() => agrees(receiver, stored));
    process.stdout.write(`\n${title}: ${receiver.received.length} announced, ${resent(receiver)} of them again\n`);
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

test.each(Object.keys(faults))(
  'loses nothing, and serves again as soon as the cluster does: %s',
  async (name) => {
    await faultRoundsOn(cluster.url, name, name, (outages, withoutCommit) => {
      for (const outage of outages) {
        expectShort(outage, withoutCommit, RECONNECTION);
        expect(outage.to).toBeGreaterThan(withoutCommit.to - PROBE_DELAY);
        expect(outage.to).toBeLessThan(withoutCommit.to + RECONNECTION);
      }
    });
  },
  60 * 60_000,
);

test.each([PRIMARY_KILLED, PRIMARY_FROZEN, SWITCHOVER])(
  'loses nothing, and finds the new primary itself if DATABASE_URL names every node: %s',
  async (name) => {
    await faultRoundsOn(cluster.hostsUrl, name, `${name}, without the proxy`, (outages, withoutCommit) => {
      for (const outage of outages) expectShort(outage, withoutCommit, RECOVERY);
    });
  },
  60 * 60_000,
);

const hidden = { id: 1n, name: 'not on the standby yet' };
const other = { id: 1n, name: 'another plant' };
const early = { id: 2n, name: 'to be deleted' };

/** What makes commits visible that still wait for the standby. */
const ways: Record<string, (primary: PatroniNode) => Promise<unknown>> = {
  'a crash of the primary': ({ postgres }) => postgres.kill(),
  pg_terminate_backend: (primary) => endWaiting(primary, 'pg_terminate_backend'),
  pg_cancel_backend: (primary) => endWaiting(primary, 'pg_cancel_backend'),
};

async function endWaiting(primary: PatroniNode, end: string): Promise<void> {
  await execute(cluster.urlOf(primary), `select ${end}(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
}

/** The plants that exist on a node. @returns undefined while it does not respond */
async function visibleOn(node: PatroniNode): Promise<bigint[] | undefined> {
  const rows = await execute(cluster.urlOf(node), 'select id from plants where deleted is null').catch(() => undefined);
  return rows?.map(({ id = '' }) => BigInt(id));
}

test.each(Object.entries(ways))(
  'confirms nothing that %s made visible, until the standby has it',
  async (_name, end) => {
    const { apiUrl: url } = await start();
    const client = apiClient(url);
    const create = async (plant: NewPlant) => (await send(url, plant)).status;
    const remove = async () => (await client.send('DELETE', '/plants/2')).status;
    const requests = () => Promise.all([create(hidden), create(other), remove(), create(early)]);
    expect(await create(early)).toBe(200);

    const { primary, standby, other: third } = await cluster.nodes();
    const resumes = [standby, third].map(({ postgres }) => postgres.freeze());
    try {
      expect(await Promise.all([create(hidden), remove()])).toEqual([503, 503]);
      expect(await visibleOn(primary)).toEqual([2n]);
      await end(primary);
      await eventually(async () => (await visibleOn(primary))?.join() === '1');
      expect(await requests()).toEqual([503, 503, 503, 503]);
      expect(await requests()).toEqual([503, 503, 503, 503]);
    } finally {
      for (const resume of resumes) resume();
      client.close();
    }
    await cluster.isWhole();
    await eventually(async () => (await create(hidden)) === 200);
    expect(await requests()).toEqual([200, 400, 204, 400]);
    expect(await visibleOn(standby)).toEqual([1n]);
  },
  300_000,
);
