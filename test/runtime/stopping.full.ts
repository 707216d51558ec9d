import { expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { CLOSE, get, TOKEN } from '../support/api-server.ts';
import { atEnd } from '../support/lifetimes.ts';
import { beginUpload } from '../support/raw-request.ts';
import { type NodeProcess, projectFile, startProgram, startWith } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* How the service ends, started by npm or without it, and what it says meanwhile. */

const ENVIRONMENT = { DATABASE_URL: 'postgres://127.0.0.1:1/plants', ACCESS_TOKENS: TOKEN };
/** Longer than a test. */
const DELAY = { SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' };

/** What is said from the first signal on. */
const said = (stderr: string) => stderr.slice(stderr.indexOf('Stopping')).trimEnd().split('\n');

const IN_ORDER = 'Stopping: finishing requests in flight, within 10 s; a second signal stops at once.';

test('says for how long it still accepts connections; a second signal stops it', async () => {
  const service = await startWith({ ...ENVIRONMENT, ...DELAY });
  service.kill('SIGTERM');
  await service.until(() => service.stderr().includes('Stopping'));
  service.kill('SIGINT');
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(said(service.stderr())).toEqual([
    IN_ORDER.replace('10 s', '600 s').replace('finishing', 'accepting connections for 300 s more, finishing'),
    'Stopped at once.',
  ]);
});

test('opens no debugger at SIGUSR1, and waits for no SHUTDOWN_DELAY at SIGINT', async () => {
  const service = await startWith({ ...ENVIRONMENT, ...DELAY });
  service.kill('SIGUSR1');
  for (let n = 0; n < 20; n++) expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);
  service.kill('SIGINT');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(service.stderr()).not.toContain('Debugger');
});

test.each([
  ['npm start is killed', 'SIGTERM', (npm: NodeProcess) => npm.kill('SIGTERM')],
  ['Ctrl-C is pressed, whose SIGINT comes from the terminal and from npm', 'SIGINT', killGroup],
] as const)('ends in order when %s', async (_what, signal, kill) => {
  const [PORT, MANAGEMENT_PORT] = [`${await freePort()}`, `${await freePort()}`];
  const npm = startProgram('npm', ['start'], {
    cwd: projectFile(''),
    detached: true,
    env: { ...process.env, ...ENVIRONMENT, PORT, MANAGEMENT_PORT, SHUTDOWN_DELAY: '0', SHUTDOWN_TIMEOUT: '2s' },
  });
  atEnd(() => killGroup(npm, 'SIGKILL'));
  const live = async () =>
    (await fetch(`http://127.0.0.1:${MANAGEMENT_PORT}/live`, { headers: CLOSE }).catch(() => undefined))?.ok === true;
  await npm.eventually(live);
  // Keeps it from stopping before both signals have come.
  await beginUpload(`http://127.0.0.1:${PORT}`);
  kill(npm, signal);
  expect(await npm.exited).toEqual({ code: 0, signal: null });
  expect(said(npm.stderr())).toEqual([IN_ORDER.replace('10', '2'), 'Stopped.']);
  expect(await live()).toBe(false);
});

test('cuts searches on Postgres off at the deadline, which is no defect', async () => {
  const database = await migratedDatabase();
  await database.query("insert into plants (id, name) select id, 'Monstera' from generate_series(1, 1000000) as id");
  const service = await startWith({ DATABASE_URL: database.url, SHUTDOWN_TIMEOUT: '1s', SHUTDOWN_DELAY: '0' });
  const searches = Array.from({ length: 4 }, () => get(service.apiUrl, '/plants?name=nowhere', CLOSE));
  const responses = await Promise.all(searches);
  service.kill('SIGTERM');
  await Promise.all(responses.map((response) => expect(response.text()).rejects.toThrow()));
  expect((await service.exited).signal).toBe(null);
  const levels = [...service.stdout().matchAll(/.+/g)].map(([line]) => JSON.parse(line).level);
  expect(levels.length).toBeGreaterThan(0);
  expect(Math.max(...levels)).toBeLessThan(50);
});

/** To npm and all that it has started, which would keep the test from ending. */
function killGroup({ pid = 0 }: NodeProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' });
  }
}
