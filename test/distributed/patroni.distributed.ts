import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { execute } from '../../tooling/execute.ts';
import { apiClient } from '../support/api-client.ts';
import { eventually, untilStopped } from '../support/eventually.ts';
import { crashRounds, ROUNDS } from '../support/faults/crash-rounds.ts';
import type { Outage } from '../support/load-clients.ts';
import { consumer, differences, pagesOver } from '../support/plants/changes.ts';
import { type LocalProcess, listenerAt, together } from '../support/servers/local-process.ts';
import { startWith } from '../support/service-process.ts';
import { applyMigrations, emptyDatabase, storedPlantsAt } from '../support/test-database.ts';
import { agrees, resent, startReceiver, webhooksTo } from '../support/webhooks/webhook-receiver.ts';

/*
 * Failover on a real Patroni cluster in strict synchronous mode, behind a proxy, under the load of two instances. A
 * consumer follows the changes of each instance, and starts again once after each promotion; a webhook goes on.
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
/** Milliseconds in which the service has to serve once the database commits: its longest pause, and twice that for a busy machine. */
const RECONNECTION = 3_000;
/** Milliseconds by which the probe may notice later than the service that the database commits. */
const PROBE_DELAY = 3_000;

/** States that a fault may announce again: a page whose position was not stored, and requests that were on their way. */
const REPEATED = 200 + 32;

jest.setTimeout(60 * 60_000);

let cluster: PatroniCluster;
beforeEach(async () => {
  cluster = await patroniCluster();
  await applyMigrations(cluster.url);
});
afterEach(() => cluster.drop());

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
  const stop = untilStopped(async () => {
    await one.step(read, 100).catch(async (error) => {
      if (error instanceof RangeError) throw error;
      // 503 or no response.
      await delay(100);
    });
  });
  return { one, stop };
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

/** Expects no outage longer than Patroni may take, or than it took on a busy machine, and a little. */
function expectShort({ from, to }: Outage, withoutCommit: Outage): void {
  const limit = cluster.ttl * 1_000 + RECOVERY;
  expect(to - from).toBeLessThan(Math.max(limit, withoutCommit.to - withoutCommit.from + RECONNECTION));
  expect(to).toBeGreaterThan(withoutCommit.to - PROBE_DELAY);
  expect(to).toBeLessThan(withoutCommit.to + RECONNECTION);
}

test.each(Object.keys(faults))('loses nothing, and serves again as soon as the cluster does: %s', async (name) => {
  let probe: Probe | undefined;
  const before = await timeline();
  const receiver = await startReceiver();
  const startOne = () => startWith({ DATABASE_URL: cluster.url, ...webhooksTo(receiver.url) });
  const services = [await startOne(), await startOne()];
  const followers = services.map(({ apiUrl }) => startFollower(apiUrl));
  await crashRounds({
    killed: name,
    urls: services.map(({ apiUrl }) => apiUrl),
    serviceLives: true,
    rows: () => storedPlantsAt(cluster.url),
    pause: PAUSE,
    async crash() {
      probe = await startProbe(cluster.url);
      await faults[name]?.();
      await cluster.isWhole();
    },
    async survived(outages) {
      const withoutCommit = probe?.longestOutage() ?? { from: 0, to: 0 };
      await probe?.stop();
      for (const outage of outages) expectShort(outage, withoutCommit);
    },
  });
  const stored = await storedPlantsAt(cluster.url);
  for (const { one, stop } of followers) {
    await eventually(() => differences([...one.copy.values()], stored).length === 0);
    expect(one.restarts()).toBeLessThanOrEqual((await timeline()) - before);
    await stop();
  }
  await eventually(() => agrees(receiver, stored));
  expect(resent(receiver)).toBeLessThanOrEqual(REPEATED * ROUNDS);
  expect(receiver.forged()).toBe(0);
});

/* Whether a database commits, without the service: what an operator would try by hand, again and again. */

type Probe = Awaited<ReturnType<typeof startProbe>>;

/** Attempts at once: each waits as long as its server does, and takes a connection. */
const ATTEMPTS = 20;
/** Milliseconds between those of one of them, on average. */
const INTERVAL = 500;

/** Begins to commit rows, each on a connection of its own. @param url of a database, which gets a table for them */
async function startProbe(url: string) {
  await execute(url, 'create table if not exists probe (at timestamptz)');
  let last = performance.now();
  let longest: Outage = { from: last, to: last };
  const stop = untilStopped(async () => {
    await delay(Math.random() * 2 * INTERVAL);
    const client = new Client({ connectionString: url }).on('error', () => {});
    try {
      await client.connect();
      await client.query('insert into probe values (now())');
      const now = performance.now();
      if (now - last > longest.to - longest.from) longest = { from: last, to: now };
      last = now;
    } catch {
      // The next one may succeed.
    } finally {
      client.end().catch(() => {});
    }
  }, ATTEMPTS);
  return {
    /** The longest time without a commit so far. */
    longestOutage: () => longest,
    stop,
  };
}

/*
 * A Patroni cluster whose servers run on this machine: PATRONI_URL is its database behind a proxy, PATRONI_API the REST
 * API of one of its nodes, ETCD_URL its etcd.
 */

/** What Patroni says of a node (its REST API, GET /cluster). */
interface Member {
  readonly name: string;
  readonly role: 'leader' | 'sync_standby' | 'replica';
  readonly state: string;
  readonly api_url: string;
  readonly port: number;
  readonly lag?: number | 'unknown';
}

interface PatroniNode {
  readonly name: string;
  readonly postgres: LocalProcess;
  readonly patroni: LocalProcess;
  /** All of the node: if it dies, no part of it is left. */
  readonly machine: ReturnType<typeof together>;
}

type PatroniCluster = Awaited<ReturnType<typeof patroniCluster>>;

async function patroniCluster() {
  const [proxyUrl, api, etcdUrl] = ['PATRONI_URL', 'PATRONI_API', 'ETCD_URL'].map(given);
  const { directUrl: url, drop } = await emptyDatabase('', proxyUrl);
  let apis = [new URL(api ?? '').origin];

  async function members(): Promise<readonly Member[]> {
    // From any node that responds: some are frozen or dead.
    const { members } = await Promise.any(apis.map((one) => ask<{ members: Member[] }>(`${one}/cluster`)));
    return members;
  }

  async function isWhole(): Promise<boolean> {
    const all = await members();
    const following = ({ role, state, lag }: Member) =>
      /^(running|streaming)$/.test(state) && (role === 'leader' || (typeof lag === 'number' && lag < CLOSE));
    const roles = all.map(({ role }) => role).sort();
    return roles.join() === 'leader,replica,sync_standby' && all.every(following);
  }

  function nodeWith(role: Member['role'], all: readonly Member[]): PatroniNode {
    const member = all.find((one) => one.role === role);
    if (member === undefined) throw new Error(`Patroni knows no ${role}`);
    const { name, port, api_url } = member;
    const [postgres, patroni] = [listenerAt(port), listenerAt(Number(new URL(api_url).port))];
    return { name, postgres, patroni, machine: together(patroni, postgres) };
  }

  /** The primary and its synchronous standby, as it is now. */
  async function nodes() {
    const all = await members();
    return { primary: nodeWith('leader', all), standby: nodeWith('sync_standby', all) };
  }

  const cluster = {
    /** Through the proxy. */
    url,
    /** Seconds after which a leader that does not renew its lock has lost it. */
    ttl: (await ask<{ ttl: number }>(`${apis[0]}/config`)).ttl,
    proxy: listenerAt(Number(new URL(url).port)),
    etcd: listenerAt(Number(new URL(etcdUrl ?? '').port)),
    nodes,
    /** Makes the synchronous standby the primary. */
    async switchOver(): Promise<void> {
      const { primary, standby } = await nodes();
      const body = JSON.stringify({ leader: primary.name, candidate: standby.name });
      const response = await fetch(`${apis[0]}/switchover`, { method: 'POST', body });
      if (!response.ok) throw new Error(`no switchover: ${await response.text()}`);
    },
    /** Resolves once a node of another name is the primary. */
    async hasOtherPrimary({ name }: PatroniNode): Promise<void> {
      await eventually(async () => {
        const all = await members().catch(() => []);
        return all.some((one) => one.role === 'leader' && one.name !== name);
      });
    },
    /** Resolves once every node runs and follows one primary closely, and one of them is its synchronous standby. */
    async isWhole(): Promise<void> {
      await eventually(() => isWhole().catch(() => false), 180_000);
      apis = (await members()).map(({ api_url }) => new URL(api_url).origin);
    },
    drop,
  };
  await cluster.isWhole();
  return cluster;
}

/** Octets that a standby may lag while plants are created. */
const CLOSE = 1024 ** 2;

async function ask<T>(url: string): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** @throws Error, saying what to do, if the variable is not set */
function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} must be set: see CONTRIBUTING.md`);
  return value;
}
