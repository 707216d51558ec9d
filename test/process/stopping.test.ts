import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { CLOSE, get, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { connectTo } from '../support/http-bytes.ts';
import { atEnd } from '../support/lifetimes.ts';
import {
  type NodeProcess,
  projectFile,
  startProgram,
  startService,
  temporaryFolder,
} from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* How the service ends, started by npm or without it, and what it says meanwhile. */

const ENVIRONMENT = { DATABASE_URL: 'postgres://127.0.0.1:1/plants', ACCESS_TOKENS: TOKEN };

/** What is said from the first signal on. */
const said = (stderr: string) => stderr.slice(stderr.indexOf('Stopping')).trimEnd().split('\n');

const IN_ORDER = 'Stopping: finishing requests in flight, within 10 s; a second signal stops at once.';

test('says for how long it still accepts connections, and that a second signal has stopped it at once', async () => {
  const service = await startService(await temporaryFolder(), { ...ENVIRONMENT, SHUTDOWN_DELAY: '5s' });
  service.kill('SIGTERM');
  await service.until(() => service.stderr().includes('Stopping'));
  service.kill('SIGINT');
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(said(service.stderr())).toEqual([
    IN_ORDER.replace('finishing', 'accepting connections for 5 s more, finishing'),
    'Stopped at once.',
  ]);
});

test('cuts searches on Postgres off at the deadline, which is no defect', async () => {
  const database = await migratedDatabase();
  await database.query("insert into plants (id, name) select id, 'Monstera' from generate_series(1, 200000) as id");
  const environment = { DATABASE_URL: database.url, SHUTDOWN_TIMEOUT: '1s', SHUTDOWN_DELAY: '0' };
  const service = await startService(await temporaryFolder(), { ...ENVIRONMENT, ...environment });
  const searches = Array.from({ length: 4 }, () => get(service.apiUrl, '/plants?name=nowhere', CLOSE));
  const responses = await Promise.all(searches);
  service.kill('SIGTERM');
  await Promise.all(responses.map((response) => expect(response.text()).rejects.toThrow()));
  expect((await service.exited).signal).toBe(null);
  const levels = service
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).level);
  expect(levels.length).toBeGreaterThan(0);
  expect(Math.max(...levels)).toBeLessThan(50);
});

test('opens no debugger at SIGUSR1', async () => {
  const service = await startService(await temporaryFolder(), ENVIRONMENT);
  service.kill('SIGUSR1');
  for (let n = 0; n < 20; n++) expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
  service.kill('SIGINT');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(service.stderr()).not.toContain('Debugger');
});

/** Runs `npm start`, behind another program if one is given, until its service is live. */
async function npmStart(prefix: readonly string[], environment: Record<string, string>) {
  const [PORT, MANAGEMENT_PORT] = [`${await freePort()}`, `${await freePort()}`];
  const [command = '', ...args] = [...prefix, 'npm', 'start'];
  const npm = startProgram(command, args, {
    cwd: projectFile(''),
    detached: true,
    env: { ...process.env, ...ENVIRONMENT, PORT, MANAGEMENT_PORT, SHUTDOWN_DELAY: '0', ...environment },
  });
  const live = async () =>
    (await fetch(`http://127.0.0.1:${MANAGEMENT_PORT}/live`, { headers: CLOSE }).catch(() => undefined))?.ok === true;
  await npm.eventually(live);
  return { npm, live, apiUrl: `http://127.0.0.1:${PORT}` };
}

test('ends in order when npm start is killed, and says that it stops and when it has', async () => {
  const { npm, live } = await npmStart([], { SHUTDOWN_TIMEOUT: '10s' });
  atEnd(() => killGroup(npm));
  npm.kill('SIGTERM');
  await eventually(async () => !(await live()), 20_000);
  expect(await npm.exited).toEqual({ code: 0, signal: null });
  expect(said(npm.stderr())).toEqual([IN_ORDER, 'Stopped.']);
}, 90_000);

/** What npm has left behind would keep the test from ending. */
function killGroup({ pid = 0 }: NodeProcess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' });
  }
}

/** Runs a program on a terminal, where Ctrl-C is pressed once this is told to go on, and ends as it ends. */
const WITH_CTRL_C = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
sys.stdin.readline()
os.write(terminal, b'\\x03')
try:
  while text := os.read(terminal, 4096): os.write(1, text)
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;

test('ends in order at Ctrl-C, which comes from the terminal and from npm', async () => {
  const { npm, live, apiUrl } = await npmStart(['python3', '-c', WITH_CTRL_C], { SHUTDOWN_TIMEOUT: '2s' });
  // Keeps it from stopping before both signals have come.
  await once(connectTo(apiUrl), 'connect');
  npm.stdin.write('\n');
  expect(await npm.exited).toEqual({ code: 0, signal: null });
  expect(npm.stdout()).toMatch(/\r\nStopping: .*\r\nStopped\.\r\n/);
  expect(await live()).toBe(false);
}, 90_000);
