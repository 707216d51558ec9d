import { expect, test } from '@jest/globals';
import { beginToStop, create, logged, open, pids, ready, start } from '../support/cluster/several-processes.ts';
import { isAlive, killWorker, workerAt } from '../support/cluster/worker-processes.ts';
import { eventually } from '../support/eventually.ts';
import { beginUpload } from '../support/raw-request.ts';
import type { Service } from '../support/service-process.ts';

/* How several processes stop together. */

/** What is said from the first signal on. */
const said = ({ stderr }: Service) => stderr().slice(stderr().indexOf('Stopping')).trimEnd().split('\n');

const IN_ORDER = (seconds: number) =>
  `Stopping: finishing requests in flight, within ${seconds} s; a second signal stops at once.`;

/** So many that both processes have some. */
const inFlight = ({ apiUrl }: Service) => Promise.all(Array.from({ length: 16 }, () => beginUpload(apiUrl)));

test.each(['SIGTERM', 'SIGINT'] as const)(
  'finishes what is in flight at one %s to all processes, as service managers and terminals send it',
  async (signal) => {
    const service = await start({}, true);
    const all = pids(service);
    const uploads = await inFlight(service);
    process.kill(-(service.pid ?? 0), signal);
    await eventually(async () => (await ready(service)).checks.service === 'shutting down');
    for (const { finish } of uploads) expect(await finish()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(said(service)).toEqual([IN_ORDER(10), 'Stopped.']);
    expect(all.filter(isAlive)).toEqual([]);
  },
);

test('still accepts connections for SHUTDOWN_DELAY in all processes', async () => {
  const service = await start({ SHUTDOWN_DELAY: '2s' });
  await beginToStop(service);
  for (let id = 1; id <= 10; id++) {
    const response = await create(service, id);
    expect([response.status, response.headers.get('Connection')]).toEqual([200, 'close']);
  }
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

test('ends all at once at a second signal, and loses no line of the log', async () => {
  const service = await start({ SHUTDOWN_TIMEOUT: '10m' });
  const all = pids(service);
  for (let id = 101; id <= 120; id++) await create(service, id);
  await inFlight(service);
  await beginToStop(service);
  service.kill('SIGINT');
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(said(service)).toEqual([IN_ORDER(600), 'Stopped at once.']);
  await eventually(() => !all.some(isAlive));
  expect(logged(service).filter(({ status }) => status === 200)).toHaveLength(20);
});

test('says which process did not stop in good order, and why', async () => {
  const service = await start();
  const uploads = await inFlight(service);
  await beginToStop(service);
  await killWorker(1, service);
  await Promise.allSettled(uploads.map(({ finish }) => finish()));
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(said(service).at(-1)).toBe('The shutdown failed: worker process 1: it was ended by SIGKILL');
});

test('ends all at SHUTDOWN_TIMEOUT, though one hangs', async () => {
  const service = await start({ SHUTDOWN_TIMEOUT: '1s' });
  const all = pids(service);
  process.kill(workerAt(1, service) ?? 0, 'SIGSTOP');
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(said(service)).toEqual([IN_ORDER(1), 'Stopped: the shutdown did not finish within 1 s.']);
  await eventually(() => !all.some(isAlive));
});

test('does not wait for silent connections longer than SHUTDOWN_TIMEOUT', async () => {
  // Without the compile cache, which a process writes when it ends: with it, that takes a second on a busy machine.
  const service = await start({ SHUTDOWN_TIMEOUT: '6s', NODE_COMPILE_CACHE: '' });
  await Promise.all(Array.from({ length: 16 }, () => open(service.apiUrl)));
  service.kill('SIGTERM');
  // It would be 1 after the time is over.
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

test('ends a process that is being started', async () => {
  const service = await start();
  const killed = await killWorker(1, service);
  await eventually(() => ![undefined, killed].includes(workerAt(1, service)));
  const all = pids(service);
  expect(all).toHaveLength(3);
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(all.filter(isAlive)).toEqual([]);
});
