import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { CLOSE } from '../support/api-server.ts';
import {
  create,
  database,
  environment,
  isReady,
  metrics,
  open,
  pids,
  ready,
  requestsByWorker,
  start,
} from '../support/cluster/several-processes.ts';
import { workerAt } from '../support/cluster/worker-processes.ts';
import { eventually } from '../support/eventually.ts';
import { mistakesIn, queries, samplesIn } from '../support/monitoring/prometheus.ts';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { UNHEARD } from '../support/webhooks/webhook-receiver.ts';

/* Several processes at work. */

test('says once where it listens, and is ready when all processes are', async () => {
  const service = await start();
  expect(await ready(service)).toMatchObject({
    status: 200,
    checks: { service: 'ok', 'worker 1': 'ok', 'worker 2': 'ok' },
  });
  expect((await fetch(`${service.managementUrl}/live`, { headers: CLOSE })).status).toBe(200);
  expect(service.stderr()).toMatch(
    /^Plant Store listens at \S+, management at \S+\nPlants: .*\nAPI documentation: .*\nDatabase: .*\n$/,
  );
});

test('distributes the connections among the processes, which share POOL_SIZE', async () => {
  const service = await start();
  const ids = Array.from({ length: 64 }, (_, n) => n + 1);
  await Promise.all(ids.map(async (id) => expect((await create(service, id)).status).toBe(200)));
  await eventually(async () => {
    const { 1: first = 0, 2: second = 0, ...others } = await requestsByWorker(service);
    expect(others).toEqual({});
    // Five standard deviations of what a coin would give.
    return first >= 12 && second >= 12 && first + second === 64;
  });
  const sessions = `select from pg_stat_activity
    where application_name = 'plant-store' and datname = current_database()`;
  expect((await database.query(sessions)).length).toBeLessThanOrEqual(10);
});

test('says which process is not ready, and has the metrics of the others', async () => {
  const service = await start();
  const stopped = workerAt(2, service) ?? 0;
  process.kill(stopped, 'SIGSTOP');
  try {
    expect(await ready(service)).toMatchObject({
      status: 503,
      message: 'not ready: worker 2',
      checks: { 'worker 1': 'ok', 'worker 2': 'no response within 1000 ms' },
    });
    const workers = new Set(samplesIn(await metrics(service)).map(({ labels }) => labels.worker));
    expect(workers).toEqual(new Set(['1']));
  } finally {
    process.kill(stopped, 'SIGCONT');
  }
  await eventually(() => isReady(service));
});

test('has every metric that the dashboard and the alerts ask for', async () => {
  const service = await start(UNHEARD);
  expect((await create(service, 1)).status).toBe(200);
  await eventually(async () => Object.values(await requestsByWorker(service)).some((count) => count > 0));
  const text = await metrics(service);
  const heads = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  expect(new Set(heads).size).toBe(heads.length);
  const samples = [...samplesIn(text), { name: 'up', labels: { job: 'plant-store' }, value: 1 }];
  for (const [where, query] of await queries()) {
    expect([where, mistakesIn(query, samples)]).toEqual([where, []]);
  }
});

test('reports pending migrations as a single process does', async () => {
  const unmigrated = { DATABASE_URL: database.url.replace(/\w+$/, 'postgres') };
  const service = await startService(await temporaryFolder(), environment(unmigrated));
  await service.until(() => service.stderr().includes('Not ready: migrations are pending ('));
  expect((await ready(service)).checks['worker 1']).toMatch(/^migrations are pending .*: run npm run migrate$/);
});

test('serves new connections once it has been flooded beyond its limit of open files', async () => {
  const wrapper = ['prlimit', '--nofile=256:256'];
  const service = await startService(await temporaryFolder(), environment(), { wrapper });
  const sockets: Socket[] = [];
  while (sockets.length < 1_500) sockets.push(await open(service.apiUrl));
  for (const socket of sockets) socket.destroy();
  const openFiles = (worker: number) => readdirSync(`/proc/${workerAt(worker, service)}/fd`).length;
  await eventually(() => openFiles(1) < 100 && openFiles(2) < 100);
  for (let id = 201; id <= 240; id++) expect((await create(service, id)).status).toBe(200);
});

test('opens no debugger at SIGUSR1', async () => {
  const service = await start();
  for (const pid of pids(service)) process.kill(pid, 'SIGUSR1');
  for (let id = 301; id <= 320; id++) expect((await create(service, id)).status).toBe(200);
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(service.stderr()).not.toContain('Debugger');
});

test('writes whole lines to a pipe that all processes share, however long they are and however slow its reader', async () => {
  const pipe = await namedPipe();
  let text = '';
  // Slower than the log, so that the pipe is full most of the time.
  const reading = setInterval(() => {
    text += pipe.read();
  }, 20);
  try {
    const wrapper = ['sh', '-c', `exec "$0" "$@" > ${pipe.path}`];
    const service = await startService(await temporaryFolder(), environment(), { wrapper });
    const paths = ['a', 'b'.repeat(5_000), 'c'.repeat(3_700), 'd'.repeat(15_000), 'e', 'f'.repeat(1_000)];
    const requests = 2_000;
    const client = async (first: number) => {
      for (let n = first; n < requests; n += 20) {
        await (await fetch(`${service.apiUrl}/${n}/${paths[n % paths.length]}`)).text();
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, first) => client(first)));
    await eventually(() => text.split('\n').length > requests);
  } finally {
    clearInterval(reading);
  }
  const lines = text.split('\n').slice(0, -1);
  const numbers = lines.map((line) => Number(/^\/(\d+)\//.exec(JSON.parse(line).path)?.[1]));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, n) => n));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(4_096);
});
