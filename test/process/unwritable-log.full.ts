import { describe, expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { CLOSE, post, TOKEN } from '../support/api-server.ts';
import { embeddedFolder } from '../support/embedded-template.ts';
import { eventually } from '../support/eventually.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { samplesIn, sampleValue } from '../support/monitoring/prometheus.ts';
import { type NamedPipe, namedPipe } from '../support/programs/named-pipe.ts';
import { type NodeProcess, startMain, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* The service while its log cannot be written: it serves, counts what it drops, and ends as ever. */

// Megabytes of log take their time on a busy machine.
jest.setTimeout(120_000);

interface Running extends NodeProcess {
  readonly apiUrl: string;
  readonly managementUrl: string;
}

/** The service with its output redirected as a shell says, which has longer to stop than a test may take. */
async function start(redirection: string, environment: Record<string, string>): Promise<Running> {
  const [PORT, MANAGEMENT_PORT] = [`${await freePort()}`, `${await freePort()}`];
  const all = { ACCESS_TOKENS: TOKEN, SHUTDOWN_TIMEOUT: '10m', PORT, MANAGEMENT_PORT, ...environment };
  const wrapper = ['sh', '-c', `exec "$0" "$@" ${redirection}`];
  const service = startMain(await temporaryFolder(), all, { wrapper });
  const managementUrl = `http://127.0.0.1:${MANAGEMENT_PORT}`;
  const ready = () => fetch(`${managementUrl}/ready`, { headers: CLOSE }).catch(() => undefined);
  await service.eventually(async () => (await ready())?.ok === true);
  return { ...service, apiUrl: `http://127.0.0.1:${PORT}`, managementUrl };
}

async function create({ apiUrl }: Running, id: number): Promise<number> {
  return (await post(apiUrl, JSON.stringify({ id, name: 'Monstera' }))).status;
}

/** Logs lines of 15 kB until some are dropped. */
async function logUntilDropped(service: Running): Promise<void> {
  await eventually(async () => {
    const url = `${service.apiUrl}/${'x'.repeat(15_000)}`;
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(url, { headers: CLOSE })).text()));
    return (await droppedLines(service)) > 0;
  });
}

async function droppedLines({ managementUrl }: Running): Promise<number> {
  const metrics = await (await fetch(`${managementUrl}/metrics`, { headers: CLOSE })).text();
  return sampleValue(samplesIn(metrics), 'plant_store_log_lines_dropped_total') ?? Number.NaN;
}

async function endsInOrder(service: NodeProcess): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
}

const reports = (service: NodeProcess) => service.stderr().match(/^The log cannot be written .*$/gm);

const database = forAllTests(migratedDatabase);

describe('a full disk', () => {
  const serveAndEnd = async (environment: Record<string, string>) => {
    const service = await start('> /dev/full', environment);
    expect(await create(service, 1)).toBe(200);
    await logUntilDropped(service);
    expect(await create(service, 1)).toBe(200);
    await endsInOrder(service);
    expect(reports(service)).toEqual([
      'The log cannot be written (ENOSPC: no space left on device, write): ' +
        'lines are dropped and counted, and the service continues.',
    ]);
  };

  test('lets it serve and end', () => serveAndEnd({ DATABASE_URL: database.url }));

  test('lets it serve and end on the embedded database', async () => serveAndEnd({ DATA_DIR: await embeddedFolder() }));

  test('lets it serve and end though stderr is there, too', async () => {
    const service = await start('> /dev/full 2>&1', { DATABASE_URL: database.url });
    await logUntilDropped(service);
    expect(await create(service, 2)).toBe(200);
    await endsInOrder(service);
  });
});

describe('a pipe', () => {
  /** A pipe that is full, with a reader that does not read. */
  async function fullPipe(): Promise<NamedPipe> {
    const pipe = await namedPipe();
    pipe.fill();
    return pipe;
  }

  test('whose reader stalls lets it serve, write whole lines once it reads again, and end', async () => {
    const pipe = await fullPipe();
    const service = await start(`> ${pipe.path}`, { DATABASE_URL: database.url });
    await logUntilDropped(service);
    expect(await create(service, 3)).toBe(200);
    expect(reports(service)).toEqual([expect.stringContaining('(its reader or disk is too slow)')]);

    let text = '';
    const logged = (path: string) => {
      text += pipe.read();
      return text.includes(`"path":"${path}"`);
    };
    await eventually(async () => {
      await fetch(`${service.apiUrl}/again`, { headers: CLOSE });
      return logged('/again');
    });
    await endsInOrder(service);
    text += pipe.read();
    for (const line of text.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ msg: 'request' });
    expect(reports(service)).toHaveLength(1);
  });

  test('whose reader stalls lets it end, with stderr in the same pipe', async () => {
    const pipe = await fullPipe();
    const service = await start(`> ${pipe.path} 2>&1`, { DATABASE_URL: database.url });
    await logUntilDropped(service);
    await endsInOrder(service);
  });

  test('whose reader has left lets it serve and end', async () => {
    const pipe = await fullPipe();
    const service = await start(`> ${pipe.path}`, { DATABASE_URL: database.url });
    pipe.close();
    await logUntilDropped(service);
    expect(await create(service, 4)).toBe(200);
    await endsInOrder(service);
    expect(reports(service)).toEqual([expect.stringContaining('(EPIPE: broken pipe, write)')]);
  });
});
