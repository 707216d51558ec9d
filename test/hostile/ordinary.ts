import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../../tooling/statistics.ts';

/** How ordinary clients fared. */
export interface Service {
  /** Milliseconds from when a request was due, so that a stall counts for those that it held up, too. */
  readonly p99: number;
  readonly most: number;
  /** Requests that were not answered 200, by what they got instead. */
  readonly failures: ReadonlyMap<string, number>;
}

const CLIENTS = 16;
const REQUESTS_PER_SECOND = 100;

/** Creates plants at an even pace over a few kept-alive connections. Each has a new id and is sent once. */
export async function ordinaryClients(url: string, token: string, seconds: number): Promise<Service> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const latencies: number[] = [];
  const failures = new Map<string, number>();
  const sending: Promise<void>[] = [];
  const count = seconds * REQUESTS_PER_SECOND;
  const start = performance.now();
  for (let index = 0; index < count; index++) {
    const due = start + (index * 1000) / REQUESTS_PER_SECOND;
    if (due > performance.now()) await sleep(due - performance.now());
    sending.push(
      create(url, token, agent).then((outcome) => {
        latencies.push(performance.now() - due);
        if (outcome !== '200') failures.set(outcome, (failures.get(outcome) ?? 0) + 1);
      }),
    );
  }
  await Promise.all(sending);
  agent.destroy();
  return { p99: quantile(latencies, 0.99), most: quantile(latencies, 1), failures };
}

function create(url: string, token: string, agent: Agent): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const sending = request(`${url}/plants`, { method: 'POST', agent, headers }, (answer) => {
    answer.resume().on('end', () => resolve(String(answer.statusCode)));
  });
  sending.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  sending.end(`{"id":${new BigInt64Array(crypto.getRandomValues(new Uint8Array(8)).buffer)[0]},"name":"Ficus"}`);
  return promise;
}
