import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { putEmbeddedDatabase } from '../support/embedded-template.ts';
import { eventually } from '../support/eventually.ts';
import { samplesIn, sampleValue } from '../support/monitoring/prometheus.ts';
import {
  compileCache,
  type NodeProcess,
  projectFile,
  startProgram,
  temporaryFolder,
} from '../support/service-process.ts';
import { migratedDatabase, type TestDatabase } from '../support/test-database.ts';

/* The service while its log cannot be written: it serves, counts what it drops, and ends as ever. */

// Megabytes of log take their time on a busy machine.
jest.setTimeout(120_000);

const TOKEN = 'token-for-the-tests';
/** A connection that is kept alive would keep a stopping service waiting. */
const CLOSE = { Connection: 'close' };
/** The bytes that a pipe of Linux holds. */
const PIPE = 65_536;

interface Running extends NodeProcess {
  readonly apiUrl: string;
  readonly managementUrl: string;
}

/** The service with its output redirected as a shell says, which has longer to stop than a test may take. */
async function start(redirection: string, environment: Record<string, string>): Promise<Running> {
  const [PORT, MANAGEMENT_PORT] = [`${await freePort()}`, `${await freePort()}`];
  const service = startProgram(
    'sh',
    ['-c', `exec "$0" "$@" ${redirection}`, process.execPath, projectFile('src/main.ts')],
    {
      cwd: await temporaryFolder(),
      env: {
        ...compileCache,
        ACCESS_TOKENS: TOKEN,
        SHUTDOWN_DELAY: '0',
        SHUTDOWN_TIMEOUT: '10m',
        PORT,
        MANAGEMENT_PORT,
        ...environment,
      },
    },
  );
  const managementUrl = `http://127.0.0.1:${MANAGEMENT_PORT}`;
  const ready = () =>
    fetch(`${managementUrl}/ready`, { headers: CLOSE }).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(ready, 110_000);
  return { ...service, apiUrl: `http://127.0.0.1:${PORT}`, managementUrl };
}

async function create({ apiUrl }: Running, id: number): Promise<number> {
  const headers = { ...CLOSE, Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ id, name: 'Monstera' });
  return (await fetch(`${apiUrl}/plants`, { method: 'POST', headers, body })).status;
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

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.drop());

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

  test('lets it serve and end on the embedded database', async () => {
    const folder = await temporaryFolder();
    await putEmbeddedDatabase(folder);
    await serveAndEnd({ DATA_DIR: folder });
  });

  test('lets it serve and end though stderr is there, too', async () => {
    const service = await start('> /dev/full 2>&1', { DATABASE_URL: database.url });
    await logUntilDropped(service);
    expect(await create(service, 2)).toBe(200);
    await endsInOrder(service);
  });
});

describe('a pipe', () => {
  let pipe: string;
  let reader: number;
  afterEach(() => closeSync(reader));

  /** A pipe that is full, with a reader that does not read. */
  async function fullPipe(): Promise<void> {
    pipe = join(await temporaryFolder(), 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    expect(writeSync(reader, Buffer.alloc(PIPE, '\n'))).toBe(PIPE);
  }

  /** All that the pipe holds. */
  function read(): string {
    const buffer = Buffer.alloc(PIPE);
    try {
      return buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch (error) {
      expect(error).toMatchObject({ code: 'EAGAIN' });
      return '';
    }
  }

  test('whose reader stalls lets it serve, write whole lines once it reads again, and end', async () => {
    await fullPipe();
    const service = await start(`> ${pipe}`, { DATABASE_URL: database.url });
    await logUntilDropped(service);
    expect(await create(service, 3)).toBe(200);
    expect(reports(service)).toEqual([expect.stringContaining('(its reader or disk is too slow)')]);

    let text = '';
    const logged = (path: string) => {
      text += read();
      return text.includes(`"path":"${path}"`);
    };
    await eventually(async () => {
      await fetch(`${service.apiUrl}/again`, { headers: CLOSE });
      return logged('/again');
    });
    await endsInOrder(service);
    text += read();
    for (const line of text.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ msg: 'request' });
    expect(reports(service)).toHaveLength(1);
  });

  test('whose reader stalls lets it end, with stderr in the same pipe', async () => {
    await fullPipe();
    const service = await start(`> ${pipe} 2>&1`, { DATABASE_URL: database.url });
    await logUntilDropped(service);
    await endsInOrder(service);
  });

  test('whose reader has left lets it serve and end', async () => {
    await fullPipe();
    const service = await start(`> ${pipe}`, { DATABASE_URL: database.url });
    closeSync(reader);
    reader = openSync('/dev/null', 'r');
    await logUntilDropped(service);
    expect(await create(service, 4)).toBe(200);
    await endsInOrder(service);
    expect(reports(service)).toEqual([expect.stringContaining('(EPIPE: broken pipe, write)')]);
  });
});
