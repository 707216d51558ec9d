import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../tooling/free-port.ts';
import { childrenOf } from '../tooling/linux-process.ts';
import { TOKEN } from './support/api-server.ts';
import { eventually } from './support/eventually.ts';
import { faultless, judge, naturals, startLoad } from './support/load-clients.ts';
import { mistakesIn, queries, samplesIn } from './support/prometheus.ts';
import {
  compileCache,
  projectFile,
  type Service,
  startMain,
  startOnUsedPort,
  startProgram,
  startService,
  temporaryFolder,
} from './support/service-process.ts';
import {
  connect as connectDatabase,
  migratedDatabase,
  storedPlants,
  type TestDatabase,
} from './support/test-database.ts';
import { isAlive, killWorker, workerAt } from './support/worker-processes.ts';

/* The service as several processes, as its users and its supervisor meet it. */

let database: TestDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.drop());

const environment = (more: Record<string, string> = {}) => ({
  PROCESSES: '2',
  DATABASE_URL: database.url,
  ACCESS_TOKENS: TOKEN,
  ...more,
});

/** Once it is ready, so that it has nothing more to say of its start. */
async function start(more: Record<string, string> = {}, detached = false): Promise<Service> {
  const service = await startService(await temporaryFolder(), environment(more), detached);
  await eventually(() => isReady(service));
  return service;
}

/** Without a connection that is kept alive, which would keep a stopping service waiting. */
const CLOSE = { Connection: 'close' };

function create({ apiUrl }: Service, id: number, token = TOKEN): Promise<Response> {
  const headers = { ...CLOSE, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return fetch(`${apiUrl}/plants`, { method: 'POST', headers, body: JSON.stringify({ id, name: 'Monstera' }) });
}

async function ready({ managementUrl }: Pick<Service, 'managementUrl'>) {
  const response = await fetch(`${managementUrl}/ready`, { headers: CLOSE });
  const { message, checks } = (await response.json()) as { message?: string; checks: Record<string, string> };
  return { status: response.status, message, checks };
}

const isReady = async (service: Service) => (await ready(service)).status === 200;

const metrics = async ({ managementUrl }: Service) =>
  (await fetch(`${managementUrl}/metrics`, { headers: CLOSE })).text();

/** How many requests each place has counted. */
async function requestsByWorker(service: Service): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const { name, labels, value } of samplesIn(await metrics(service))) {
    const { worker = 'none' } = labels;
    if (name === 'http_requests_total') counted[worker] = (counted[worker] ?? 0) + value;
  }
  return counted;
}

const pids = ({ pid = 0 }: Service) => [pid, ...childrenOf(pid)];

/** What is said from the first signal on. */
const said = ({ stderr }: Service) => stderr().slice(stderr().indexOf('Stopping')).trimEnd().split('\n');

const IN_ORDER = (seconds: number) =>
  `Stopping: finishing requests in flight, within ${seconds} s; a second signal stops at once.`;

/** Opens a connection and sends the beginning of a request, whose body the service then waits for. */
async function halfSent({ apiUrl }: Service): Promise<() => Promise<string>> {
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

async function open(apiUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(apiUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

describe('at work', () => {
  test('says once where it listens, serves in all processes, and is ready when all are', async () => {
    const service = await start();
    for (let id = 1; id <= 20; id++) expect((await create(service, id)).status).toBe(200);
    await eventually(async () => {
      const { 1: first = 0, 2: second = 0, ...others } = await requestsByWorker(service);
      expect(others).toEqual({});
      return first >= 8 && second >= 8 && first + second === 20;
    });
    expect(await ready(service)).toMatchObject({
      status: 200,
      checks: { service: 'ok', 'worker 1': 'ok', 'worker 2': 'ok' },
    });
    expect((await fetch(`${service.managementUrl}/live`, { headers: CLOSE })).status).toBe(200);
    expect(service.stderr()).toMatch(
      /^Plant Store listens at \S+, management at \S+\nAPI documentation: .*\nDatabase: .*\n$/,
    );
    const { pathname } = new URL(database.url);
    const sessions = "select count(*) from pg_stat_activity where application_name = 'plant-store' and datname = $1";
    // POOL_SIZE, of all together.
    expect(Number((await database.query(sessions, [pathname.slice(1)]))[0]?.count)).toBeLessThanOrEqual(10);
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
    const service = await start();
    expect((await create(service, 1)).status).toBe(200);
    await eventually(async () => Object.values(await requestsByWorker(service)).some((count) => count > 0));
    const text = await metrics(service);
    const heads = text.split('\n').filter((line) => line.startsWith('# TYPE'));
    expect(new Set(heads).size).toBe(heads.length);
    const up = { name: 'up', labels: { job: 'plant-store' }, value: 1 };
    const samples = [...samplesIn(text), up];
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

  test('writes whole lines to a pipe that all processes share, however long they are and however slow its reader', async () => {
    const folder = await temporaryFolder();
    const pipe = join(folder, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    let text = '';
    const buffer = Buffer.alloc(65_536);
    // Slower than the log, so that the pipe is full most of the time.
    const reading = setInterval(() => {
      try {
        text += buffer.toString('latin1', 0, readSync(reader, buffer));
      } catch (error) {
        expect(error).toMatchObject({ code: 'EAGAIN' });
      }
    }, 20);
    try {
      const PORT = `${await freePort()}`;
      const node = [process.execPath, projectFile('src/main.ts')];
      const env = { ...environment({ PORT, MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '0' }), ...compileCache };
      const service = startProgram('sh', ['-c', `exec "$0" "$@" > ${pipe}`, ...node], { cwd: folder, env });
      await service.until(() => service.stderr().includes('listens at'));
      const paths = ['a', 'b'.repeat(5_000), 'c'.repeat(3_700), 'd'.repeat(15_000), 'e', 'f'.repeat(1_000)];
      const requests = 2_000;
      const client = async (first: number) => {
        for (let n = first; n < requests; n += 20) {
          await (await fetch(`http://127.0.0.1:${PORT}/${n}/${paths[n % paths.length]}`)).text();
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, first) => client(first)));
      await eventually(() => text.split('\n').length > requests);
    } finally {
      clearInterval(reading);
      closeSync(reader);
    }
    const lines = text.split('\n').slice(0, -1);
    const numbers = lines.map((line) => Number(/^\/(\d+)\//.exec(JSON.parse(line).path)?.[1]));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, n) => n));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(4_096);
  });
});

describe('a process that is killed', () => {
  test('under load loses nothing that was acknowledged, and its place is taken within 3 s', async () => {
    const starting = performance.now();
    const service = await start({ LOG_LEVEL: 'error' });
    const startTime = performance.now() - starting;
    const load = startLoad(service.apiUrl, naturals());
    await eventually(() => load.acknowledged() > 500);
    const killed = await killWorker(2, service);
    const since = performance.now();
    await eventually(async () => (await ready(service)).checks['worker 2'] !== 'ok');
    const before = load.acknowledged();
    await eventually(() => isReady(service));
    // A machine on which a start takes seconds, since others use it, takes as long for this one.
    expect(performance.now() - since).toBeLessThan(Math.max(3_000, 3 * startTime));
    // The other one has served meanwhile.
    expect(load.acknowledged()).toBeGreaterThan(before);
    expect(workerAt(2, service)).not.toBe(killed);
    const after = load.acknowledged();
    await eventually(() => load.acknowledged() > after + 500);

    const answers = await load.stop();
    const connection = connectDatabase(database.url);
    const rows = await storedPlants(connection);
    await connection.close();
    // Those of the other tests are not the load's.
    const own = new Set(answers.map(({ plant }) => plant.id));
    expect(
      judge(
        answers,
        rows.filter(({ id }) => own.has(id)),
      ),
    ).toEqual(faultless);
    // Those of its connections, at most.
    expect(load.unsettled.lost).toBeLessThanOrEqual(16);
    expect(
      service
        .stdout()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual([
      expect.objectContaining({
        worker: '2',
        pid: killed,
        msg: 'worker process was ended by SIGKILL',
      }),
    ]);
  });

  test('does not keep the client waiting whose connection it was handed and has not taken', async () => {
    const service = await start();
    const stopped = workerAt(1, service) ?? 0;
    process.kill(stopped, 'SIGSTOP');
    const sockets = await Promise.all(Array.from({ length: 4 }, () => open(service.apiUrl)));
    const ends = sockets.map(async (socket) => {
      socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      let response = '';
      socket.on('data', (text) => {
        response += text;
      });
      await new Promise((closed) => socket.once('close', closed));
      return response.slice(0, 15);
    });
    let ended = 0;
    for (const end of ends) void end.then(() => ended++);
    await eventually(() => ended === 3);
    process.kill(stopped, 'SIGKILL');
    expect((await Promise.all(ends)).toSorted()).toEqual(['', ...Array(3).fill('HTTP/1.1 200 OK')]);
  });

  test('five times within a minute ends the service, with a reason', async () => {
    const service = await start();
    for (let n = 1; n <= 5; n++) {
      const killed = await killWorker(1, service);
      await eventually(() => !isAlive(killed));
    }
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toMatch(
      /\nPlant Store cannot continue: 5 worker processes have ended within a minute; the last one was ended by SIGKILL\.\n/,
    );
    expect(said(service)).toEqual([IN_ORDER(10), 'Stopped.']);
    expect(service.stdout()).toContain('"5 worker processes have ended within a minute;');
  });

  test('is replaced by one that reads the tokens file anew', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'tokens');
    const [old, new_] = ['token-that-is-revoked', 'token-that-replaces-it'];
    await writeFile(file, old);
    const service = await start({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: file });
    await writeFile(file, new_);
    await killWorker(1, service);
    process.kill(workerAt(2, service) ?? 0, 'SIGSTOP');
    try {
      await eventually(async () => (await ready(service)).checks['worker 1'] === 'ok');
      // The one that is stopped may have been handed one connection.
      const [status] = await Promise.any(
        [create(service, 1, old), create(service, 1, old)].map(async (r) => [(await r).status]),
      );
      expect(status).toBe(401);
      expect((await create(service, 1, new_)).status).toBe(200);
    } finally {
      process.kill(workerAt(2, service) ?? 0, 'SIGCONT');
    }
  });

  test('and cannot be replaced ends the service, with the reason', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'tokens');
    await writeFile(file, TOKEN);
    const service = await start({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: file });
    await writeFile(file, 'no token');
    await killWorker(1, service);
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toMatch(
      /cannot continue: 5 worker processes .* the last one could not start: ACCESS_TOKENS_FILE must be /,
    );
  });
});

describe('stopping', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'finishes what is in flight at one %s to all processes, as service managers and terminals send it',
    async (signal) => {
      const service = await start({}, true);
      const all = pids(service);
      const finish = await Promise.all([halfSent(service), halfSent(service)]);
      process.kill(-(service.pid ?? 0), signal);
      await eventually(async () => (await ready(service)).checks.service === 'shutting down');
      // Whoever counts two signals has ended by then.
      await delay(600);
      for (const done of finish) expect(await done()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(await service.exited).toEqual({ code: 0, signal: null });
      expect(said(service)).toEqual([IN_ORDER(10), 'Stopped.']);
      expect(all.filter(isAlive)).toEqual([]);
    },
  );

  test('still accepts connections for SHUTDOWN_DELAY in all processes', async () => {
    const service = await start({ SHUTDOWN_DELAY: '2s' });
    service.kill('SIGTERM');
    await eventually(async () => !(await isReady(service)));
    for (let id = 1; id <= 6; id++) {
      const response = await create(service, id);
      expect([response.status, response.headers.get('Connection')]).toEqual([200, 'close']);
    }
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  test('ends all at once at a second signal', async () => {
    const service = await start({ SHUTDOWN_TIMEOUT: '10m' });
    const all = pids(service);
    await halfSent(service);
    service.kill('SIGTERM');
    await eventually(async () => !(await isReady(service)));
    service.kill('SIGINT');
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(said(service)).toEqual([IN_ORDER(600), 'Stopped at once.']);
    await eventually(() => !all.some(isAlive));
  });

  test('loses no line of the log at a second signal', async () => {
    const service = await start({ LOG_LEVEL: 'info' });
    for (let id = 101; id <= 120; id++) await create(service, id);
    await halfSent(service);
    service.kill('SIGTERM');
    await eventually(async () => !(await isReady(service)));
    for (let id = 121; id <= 140; id++) await create(service, id).catch(() => {});
    service.kill('SIGINT');
    await service.exited;
    const lines = service.stdout().split('\n').slice(0, -1);
    const created = lines.filter((line) => JSON.parse(line).operation === 'createPlant');
    expect(created.length).toBeGreaterThanOrEqual(20);
  });

  test('says which process did not stop in good order, and why', async () => {
    const service = await start();
    const finish = await Promise.all([halfSent(service), halfSent(service)]);
    service.kill('SIGTERM');
    await eventually(async () => !(await isReady(service)));
    await killWorker(1, service);
    await Promise.allSettled(finish.map((done) => done()));
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(said(service).at(-1)).toBe('The shutdown failed: worker 1: it was ended by SIGKILL');
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
    await Promise.all([open(service.apiUrl), open(service.apiUrl)]);
    service.kill('SIGTERM');
    // It would be 1 after the time is over.
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  test('waits for a process that is being started', async () => {
    const service = await start();
    const killed = await killWorker(1, service);
    // Until the first process has been told of its end, that one has the place.
    await eventually(() => ![undefined, killed].includes(workerAt(1, service)));
    const all = pids(service);
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(all.filter(isAlive)).toEqual([]);
  });

  test('happens by itself when the first process is killed: what is in flight is finished, and the port is free', async () => {
    const port = `${await freePort()}`;
    const service = await start({ PORT: port });
    const workers = pids(service).slice(1);
    const finish = await halfSent(service);
    service.kill('SIGKILL');
    await eventually(() => !isAlive(service.pid ?? 0));
    const next = await start({ PORT: port });
    expect((await create(next, 1)).status).toBe(200);
    expect(await finish()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    await eventually(() => !workers.some(isAlive));
  });
});

describe('cannot start', () => {
  test.each(['PORT', 'MANAGEMENT_PORT'] as const)(
    'on a %s in use, and says so as a single process does',
    async (name) => {
      const { port, exit, stderr } = await startOnUsedPort(name, environment());
      expect(exit).toEqual({ code: 1, signal: null });
      expect(stderr).toBe(
        `Plant Store cannot start.\nPort ${port} is in use: stop the process that listens there, or set PORT or MANAGEMENT_PORT.\n`,
      );
    },
  );

  test('if a process ends before all have started, rather than to serve without it', async () => {
    const port = `${await freePort()}`;
    const service = startMain(await temporaryFolder(), environment({ MANAGEMENT_PORT: port }));
    await eventually(() => workerAt(2, service) !== undefined);
    const second = workerAt(2, service) ?? 0;
    process.kill(second, 'SIGSTOP');
    const managementUrl = `http://127.0.0.1:${port}`;
    await eventually(async () => (await ready({ managementUrl }).catch(() => undefined))?.checks['worker 1'] === 'ok');
    await killWorker(1, service);
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toBe('Plant Store cannot start.\nA worker process was ended by SIGKILL.\n');
    expect(isAlive(second)).toBe(false);
  });

  test('if there are not enough file descriptors for all, and ends those that have begun', async () => {
    const limits = { PROCESSES: '12', POOL_SIZE: '24', MAX_STREAMS: '12', PORT: '0', MANAGEMENT_PORT: '0' };
    const service = startProgram('prlimit', ['--nofile=31:31', process.execPath, projectFile('src/main.ts')], {
      cwd: await temporaryFolder(),
      env: { PATH: process.env.PATH, ...compileCache, ...environment(limits) },
    });
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toMatch(/^Plant Store cannot start\.\nA worker process could not start: .*EMFILE/m);
  });

  test('on an address that is not this machine, and says what to change', async () => {
    // RFC 5737: nobody's.
    const service = startMain(await temporaryFolder(), environment({ HOST: '192.0.2.1' }));
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.stderr()).toMatch(
      /^Plant Store cannot start\.\nbind \w+.* 192\.0\.2\.1.*: change HOST and PORT, or MANAGEMENT_HOST and .*\n$/,
    );
  });
});
