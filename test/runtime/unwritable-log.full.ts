import { describe, expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { CLOSE, post, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { namedPipe } from '../support/programs/named-pipe.ts';
import { type NodeProcess, startMain, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* The service while its log cannot be written: it serves, counts what it drops, and ends as ever. */

const database = forAllTests(migratedDatabase);

/** The service with its output redirected as a shell says, which has longer to stop than a test may take. */
async function start(redirection: string, environment: Record<string, string> = { DATABASE_URL: database.url }) {
  const [PORT, MANAGEMENT_PORT] = [`${await freePort()}`, `${await freePort()}`];
  const all = { ACCESS_TOKENS: TOKEN, SHUTDOWN_TIMEOUT: '10m', PORT, MANAGEMENT_PORT, ...environment };
  const wrapper = ['sh', '-c', `exec "$0" "$@" ${redirection}`];
  const service = startMain(await temporaryFolder(), all, { wrapper });
  const managementUrl = `http://127.0.0.1:${MANAGEMENT_PORT}`;
  const ready = () => fetch(`${managementUrl}/ready`, { headers: CLOSE }).catch(() => undefined);
  await service.eventually(async () => (await ready())?.ok === true);
  return { ...service, apiUrl: `http://127.0.0.1:${PORT}`, managementUrl };
}

type Running = Awaited<ReturnType<typeof start>>;

const create = async ({ apiUrl }: Running) =>
  expect((await post(apiUrl, '{"id":1,"name":"Monstera"}')).status).toBe(200);

/** Logs 6 MB in lines of 15 kB, of which 4 MiB are kept. */
async function logUntilDropped({ apiUrl }: Running): Promise<void> {
  for (let round = 0; round < 8; round++) {
    const line = async () => (await fetch(`${apiUrl}/${'x'.repeat(15_000)}`, { headers: CLOSE })).text();
    await Promise.all(Array.from({ length: 50 }, line));
  }
}

async function endsInOrder(service: NodeProcess): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

const reports = (service: NodeProcess) => service.stderr().match(/^The log cannot be written .*$/gm);

const report =
  'The log cannot be written (ENOSPC: no space left on device, write): ' +
  'lines are dropped, and the service continues.';

test.each([
  ['on Postgres', '> /dev/full', [report], async () => ({ DATABASE_URL: database.url })],
  ['on the embedded database', '> /dev/full', [report], async () => ({ DATA_DIR: await temporaryFolder() })],
])('a full disk lets it serve and end %s', async (_name, redirection, reported, environment) => {
  const service = await start(redirection, await environment());
  await logUntilDropped(service);
  await create(service);
  await endsInOrder(service);
  expect(reports(service)).toEqual(reported);
});

describe('a pipe', () => {
  /** One that is full, with a reader that does not read. */
  async function fullPipe() {
    const pipe = await namedPipe();
    pipe.fill();
    return pipe;
  }

  test('whose reader stalls lets it serve, and write whole lines later', async () => {
    const pipe = await fullPipe();
    const service = await start(`> ${pipe.path}`);
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

  test('whose reader has left lets it serve and end', async () => {
    const pipe = await fullPipe();
    const service = await start(`> ${pipe.path}`);
    pipe.close();
    await logUntilDropped(service);
    await create(service);
    await endsInOrder(service);
    expect(reports(service)).toEqual([expect.stringContaining('(EPIPE: broken pipe, write)')]);
  });
});
