import { eventually } from '../eventually.ts';
import { emptyDatabase } from '../test-database.ts';
import { type LocalProcess, listenerAt, together } from './local-process.ts';

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

export interface PatroniNode {
  readonly name: string;
  readonly postgres: LocalProcess;
  readonly patroni: LocalProcess;
  /** All of the node: if it dies, no part of it is left. */
  readonly machine: ReturnType<typeof together>;
}

export type PatroniCluster = Awaited<ReturnType<typeof patroniCluster>>;

export async function patroniCluster() {
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
