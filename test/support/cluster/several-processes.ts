import { once } from 'node:events';
import type { Socket } from 'node:net';
import { childrenOf } from '../../../tooling/linux-process.ts';
import { CLOSE, post, TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import { forAllTests } from '../lifetimes.ts';
import { samplesIn } from '../monitoring/prometheus.ts';
import { connectTo } from '../raw-request.ts';
import { type Service, startService, temporaryFolder } from '../service-process.ts';
import { migratedDatabase } from '../test-database.ts';

/* A service of two processes, as its users and its supervisor meet it. */

/** Of the tests of a file. */
export const database = forAllTests(migratedDatabase);

export const environment = (more: Record<string, string> = {}) => ({
  PROCESSES: '2',
  DATABASE_URL: database.url,
  ACCESS_TOKENS: TOKEN,
  ...more,
});

/** Once it is ready, so that it has nothing more to say of its start. */
export async function start(more: Record<string, string> = {}, detached = false): Promise<Service> {
  const service = await startService(await temporaryFolder(), environment(more), { detached });
  await eventually(() => isReady(service));
  return service;
}

/** Creates a plant on a connection of its own. */
export function create({ apiUrl }: Pick<Service, 'apiUrl'>, id: number, token = TOKEN): Promise<Response> {
  return post(apiUrl, JSON.stringify({ id, name: 'Monstera' }), { Authorization: `Bearer ${token}` });
}

export async function ready({ managementUrl }: Pick<Service, 'managementUrl'>) {
  const response = await fetch(`${managementUrl}/ready`, { headers: CLOSE });
  const said = (await response.json()) as { message?: string; checks: Record<string, string> };
  return { ...said, status: response.status };
}

/** Whether all processes serve. */
export async function isReady(service: Pick<Service, 'managementUrl'>): Promise<boolean> {
  const { status, checks } = await ready(service);
  return status === 200 && Object.values(checks).every((text) => text === 'ok');
}

/** Asks it to stop, and waits until it is not ready any more. */
export async function beginToStop(service: Service): Promise<void> {
  service.kill('SIGTERM');
  await eventually(async () => !(await isReady(service)));
}

/** What is logged, line by line. */
export const logged = ({ stdout }: Service) =>
  stdout()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

export const metrics = async ({ managementUrl }: Service) =>
  (await fetch(`${managementUrl}/metrics`, { headers: CLOSE })).text();

/** How many requests each worker has counted. */
export async function requestsByWorker(service: Service): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const { name, labels, value } of samplesIn(await metrics(service))) {
    const { worker = 'none' } = labels;
    if (name === 'http_requests_total') counted[worker] = (counted[worker] ?? 0) + value;
  }
  return counted;
}

/** Of the first process and its workers. */
export const pids = ({ pid = 0 }: Service) => [pid, ...childrenOf(pid)];

export async function open(apiUrl: string): Promise<Socket> {
  const socket = connectTo(apiUrl).setEncoding('utf8');
  await once(socket, 'connect');
  return socket;
}
