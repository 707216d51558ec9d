import { expect, test } from '@jest/globals';
import { CLOSE, post } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { type Service, startWith } from '../support/service-process.ts';

/* The service while its log cannot be written: it serves, counts what it drops, and ends as ever. */

/** The service with a log there, which has longer to stop than a test may take. */
const startLoggingTo = (path: string) =>
  startWith({ SHUTDOWN_TIMEOUT: '10m' }, { wrapper: ['sh', '-c', `exec "$0" "$@" > ${path}`] });

const create = async ({ apiUrl }: Service) =>
  expect((await post(apiUrl, '{"id":1,"name":"Monstera"}')).status).toBe(200);

/** Logs 6 MB in lines of 15 kB, of which 4 MiB are kept. */
async function logUntilDropped({ apiUrl }: Service): Promise<void> {
  for (let round = 0; round < 8; round++) {
    const line = async () => (await fetch(`${apiUrl}/${'x'.repeat(15_000)}`, { headers: CLOSE })).text();
    await Promise.all(Array.from({ length: 50 }, line));
  }
}

async function endsInOrder(service: Service): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

const reports = (service: Service) => service.stderr().match(/^The log cannot be written .*$/gm);

/** Where the log goes: a pipe that is full, whose reader does not read. */
async function fullPipe() {
  const pipe = await namedPipe();
  pipe.fill();
  return pipe;
}

test.each<[string, string, () => Promise<{ path: string; close?: () => void }>]>([
  ['a disk that is full', 'ENOSPC: no space left on device', async () => ({ path: '/dev/full' })],
  ['a pipe whose reader has left', 'EPIPE: broken pipe', fullPipe],
])('to %s is dropped, which the service says once, and serves and ends', async (_where, reason, open) => {
  const { path, close } = await open();
  const service = await startLoggingTo(path);
  close?.();
  await logUntilDropped(service);
  await create(service);
  await endsInOrder(service);
  const report = `The log cannot be written (${reason}, write): lines are dropped, and the service continues.`;
  expect(reports(service)).toEqual([report]);
});

test('to a pipe whose reader stalls is written in whole lines later', async () => {
  const pipe = await fullPipe();
  const service = await startLoggingTo(pipe.path);
  await logUntilDropped(service);
  await create(service);
  expect(reports(service)).toEqual([expect.stringContaining('(its reader or disk is too slow)')]);

  let text = '';
  await eventually(async () => {
    await fetch(`${service.apiUrl}/again`, { headers: CLOSE });
    text += pipe.read();
    return text.includes('"path":"/again"');
  });
  await endsInOrder(service);
  text += pipe.read();
  for (const line of text.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ msg: 'request' });
  expect(reports(service)).toHaveLength(1);
});
