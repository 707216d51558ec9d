import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { childrenOf } from '../../../tooling/linux-process.ts';
import { TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import { samplesIn } from '../monitoring/prometheus.ts';
import { type Service, startService, temporaryFolder } from '../service-process.ts';
import { migratedDatabase, type TestDatabase } from '../test-database.ts';

/* A service of two processes, as its users and its supervisor meet it. */

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.drop());

/** The database of the tests of this file. */
export const testDatabase = () => database;

export const environment = (more: Record<string, string> = {}) => ({
  PROCESSES: '2',
  DATABASE_URL: database.url,
  ACCESS_TOKENS: TOKEN,
  ...more,
});

/** Once it is ready, so that it has nothing more to say of its start. */
export async function start(more: Record<string, string> = {}, detached = false): Promise<Service> {
  const service = await startService(await temporaryFolder(), environment(more), detached);
  await eventually(() => isReady(service));
  return service;
}

/** Without a connection that is kept alive, which would keep a stopping service waiting. */
export const CLOSE = { Connection: 'close' };

/** Creates a plant on a connection of its own. */
export function create({ apiUrl }: Pick<Service, 'apiUrl'>, id: number, token = TOKEN): Promise<Response> {
  const headers = { ...CLOSE, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ id, name: 'Monstera' });
  return fetch(`${apiUrl}/plants`, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
}

export async function ready({ managementUrl }: Pick<Service, 'managementUrl'>) {
  const response = await fetch(`${managementUrl}/ready`, { headers: CLOSE });
  const { message, checks } = (await response.json()) as { message?: string; checks: Record<string, string> };
  return { status: response.status, message, checks };
}

/** Whether all processes serve. */
export async function isReady(service: Pick<Service, 'managementUrl'>): Promise<boolean> {
  const { status, checks } = await ready(service);
  return status === 200 && Object.values(checks).every((text) => text === 'ok');
}

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

/** Opens a connection and sends the beginning of a request, whose body the service then waits for. */
export async function halfSent({ apiUrl }: Service): Promise<() => Promise<string>> {
  const body = '{"id":77,"name":"Monstera"}';
  const socket = await open(apiUrl);
  socket.write(`POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n`);
  socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
  await once(socket, 'data');
  return async () => {
    socket.write(body);
    let response = '';
    for await (const text of socket) response += text;
    return response;
  };
}

export async function open(apiUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(apiUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
