import { expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { environment, ready } from '../support/cluster/several-processes.ts';
import { isAlive, killWorker, workerAt } from '../support/cluster/worker-processes.ts';
import { eventually } from '../support/eventually.ts';
import { startMain, startOnUsedPorts, temporaryFolder } from '../support/service-process.ts';

/* When several processes cannot start. */

test('on ports in use, and says so as a single process does', async () => {
  const { code, stderr, expected } = await startOnUsedPorts(['PORT', 'MANAGEMENT_PORT'], environment());
  expect([code, stderr]).toEqual([1, `Plant Store cannot start.\n${expected}`]);
});

test('if a process ends before it serves, rather than to serve without it', async () => {
  const port = `${await freePort()}`;
  const service = startMain(await temporaryFolder(), environment({ MANAGEMENT_PORT: port }));
  await eventually(() => workerAt(2, service) !== undefined);
  process.kill(workerAt(2, service) ?? 0, 'SIGSTOP');
  const managementUrl = `http://127.0.0.1:${port}`;
  await eventually(async () => (await ready({ managementUrl }).catch(() => undefined))?.checks['worker 1'] === 'ok');
  const first = workerAt(1, service) ?? 0;
  await killWorker(2, service);
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(service.stderr()).toBe(
    'Plant Store cannot start.\nWorker process 2 could not start: it was ended by SIGKILL\n',
  );
  expect(isAlive(first)).toBe(false);
});

test('if there are not enough file descriptors for all, and ends those that have begun', async () => {
  const limits = { PROCESSES: '12', POOL_SIZE: '24', MAX_STREAMS: '12' };
  const wrapper = ['prlimit', '--nofile=31:31'];
  const service = startMain(await temporaryFolder(), environment(limits), { wrapper });
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(service.stderr()).toMatch(
    /^Plant Store cannot start\.\nWorker process \d+ could not start: it could not be forked: .*EMFILE/m,
  );
});
