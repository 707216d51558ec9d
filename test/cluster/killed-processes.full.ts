import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { create, isReady, logged, open, pids, ready, start } from '../support/cluster/several-processes.ts';
import { isAlive, killWorker, workerAt } from '../support/cluster/worker-processes.ts';
import { eventually } from '../support/eventually.ts';
import { faultless, judge, naturals, startLoad } from '../support/load-clients.ts';
import { beginUpload } from '../support/raw-request.ts';
import { run, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/* One of several processes is killed. */

test('under load loses nothing that was acknowledged, and is replaced at once', async () => {
  const own = await migratedDatabase();
  const service = await start({ LOG_LEVEL: 'error', DATABASE_URL: own.url });
  const load = startLoad(service.apiUrl, naturals());
  await eventually(() => load.acknowledged() > 500);
  const killed = await killWorker(2, service);
  await eventually(async () => (await ready(service)).checks['worker 2'] !== 'ok');
  const before = load.acknowledged();
  await eventually(() => isReady(service));
  // The other one has served meanwhile.
  expect(load.acknowledged()).toBeGreaterThan(before);
  expect(workerAt(2, service)).not.toBe(killed);
  const after = load.acknowledged();
  await eventually(() => load.acknowledged() > after + 500);

  expect(judge(await load.stop(), await storedPlantsAt(own.url))).toEqual(faultless);
  // Those of its connections, at most.
  expect(load.unsettled.lost).toBeLessThanOrEqual(16);
  expect(logged(service)).toEqual([
    expect.objectContaining({ worker: '2', pid: killed, restartMs: 250, msg: 'worker process was ended by SIGKILL' }),
  ]);
});

test('does not keep the clients waiting whose connections it has not taken', async () => {
  const service = await start();
  const stopped = workerAt(1, service) ?? 0;
  process.kill(stopped, 'SIGSTOP');
  const sockets = await Promise.all(Array.from({ length: 32 }, () => open(service.apiUrl)));
  let served = 0;
  const ends = sockets.map(async (socket) => {
    socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const response = await text(socket).catch(() => 'reset');
    if (response.startsWith('HTTP/1.1 200 OK')) served++;
  });
  await eventually(() => served > 0);
  process.kill(stopped, 'SIGKILL');
  await Promise.all(ends);
  expect(served).toBeLessThan(32);
});

test('again and again does not end those that serve, and is started again after a time that grows', async () => {
  const service = await start({ LOG_LEVEL: 'error' });
  const other = workerAt(2, service);
  for (let n = 1; n <= 6; n++) {
    const killed = await killWorker(1, service);
    await eventually(() => ![undefined, killed].includes(workerAt(1, service)));
  }
  expect((await create(service, 1)).status).toBe(200);
  await eventually(() => isReady(service));
  expect(workerAt(2, service)).toBe(other);
  expect(logged(service).map(({ restartMs }) => restartMs)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000]);
});

test('is replaced by one that accepts the last valid tokens, while their file is not valid', async () => {
  const file = join(await temporaryFolder(), 'tokens');
  const [old, last] = ['token-that-is-revoked', 'token-that-replaces-it'];
  await writeFile(file, old);
  const service = await start({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: file });
  const has = (text: string, times: number) => eventually(() => service.stdout().split(text).length > times);
  await writeFile(file, last);
  // By each process, the first one included.
  await has('the accepted tokens have changed', 3);
  await writeFile(file, 'no token');
  await has('The tokens before stay accepted', 3);
  for (const worker of [1, 2]) await killWorker(worker, service);
  await eventually(() => isReady(service));
  for (let id = 11; id <= 30; id++) {
    expect((await create(service, id, last)).status).toBe(200);
    expect((await create(service, id, old)).status).toBe(401);
  }
});

test('and cannot be replaced leaves the others serving, which /ready says without failing', async () => {
  const service = await start();
  const limit = (files: number) => run('prlimit', ['--pid', `${service.pid}`, `--nofile=${files}:`]);
  // The first process can open one or two more: enough for a request, too few for another process.
  const files = new Set((await readdir(`/proc/${service.pid}/fd`)).map(Number));
  let free = 0;
  while (files.has(free)) free++;
  await limit(free + 1);
  await killWorker(1, service);
  const check = async () => (await ready(service)).checks['worker 1'] ?? '';
  await eventually(async () => /^ok, but not serving: it could not start: .*EMFILE/.test(await check()));
  expect((await ready(service)).status).toBe(200);
  for (let id = 31; id <= 50; id++) expect((await create(service, id)).status).toBe(200);
  await limit(1_000);
  await eventually(() => isReady(service));
});

test('with all others leaves the service not ready until one serves again', async () => {
  const service = await start();
  for (const worker of [1, 2]) await killWorker(worker, service);
  await eventually(async () => (await ready(service)).checks.service === 'no process serves');
  expect(await ready(service)).toMatchObject({ status: 503, message: 'not ready: service' });
  await eventually(() => isReady(service));
  expect((await create(service, 51)).status).toBe(200);
});

test('is the first one: the others end with it, and the port is free', async () => {
  const port = `${await freePort()}`;
  const service = await start({ PORT: port });
  const workers = pids(service).slice(1);
  expect(workers).toHaveLength(2);
  await beginUpload(service.apiUrl);
  service.kill('SIGKILL');
  await eventually(() => !workers.some(isAlive));
  const next = await start({ PORT: port });
  expect((await create(next, 52)).status).toBe(200);
});
