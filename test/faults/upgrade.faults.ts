import { hash } from 'node:crypto';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { type Load, naturals, startLoad } from '../support/load-clients.ts';
import { differences } from '../support/plants/changes.ts';
import { projectFile, run, type Service, startNode, startWith, temporaryFolder } from '../support/service-process.ts';
import { emptyDatabase, storedPlantsAt } from '../support/test-database.ts';

/*
 * Upgrades from the last release, and back, under load, by the steps of docs/upgrading.md. It runs with its own packages.
 */

jest.setTimeout(600_000);

/** The commit of the last release, 1.0.0. */
const RELEASED = '342fae091fc9b107b0f431308210028c545721cc';

const today = projectFile('');

async function checkOut(commit: string): Promise<string> {
  const folder = await temporaryFolder();
  const archive = join(folder, 'earlier.tar');
  // CI runs as another user than the one that has cloned it.
  const anyOwner = ['-c', 'safe.directory=*'];
  const { code, stderr } = await run('git', [...anyOwner, 'archive', '--output', archive, commit], {}, today);
  if (code !== 0) throw new Error(`this needs the history of the repository (git fetch --unshallow): ${stderr}`);
  expect(await run('tar', ['-xf', archive, '-C', folder])).toMatchObject({ code: 0 });
  expect(await run('npm', ['ci', '--omit=dev'], {}, folder)).toMatchObject({ code: 0 });
  return folder;
}

const replace = async (old: Service, start: () => Promise<Service>) => {
  old.kill('SIGTERM');
  expect(await old.exited).toEqual({ code: 0, signal: null });
  return start();
};

async function request(url: string, method = 'GET', body?: object) {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, body: await response.text() };
}

/** Plants that only 1.0.0 stores: names of a megabyte, and tags of 3,000 bytes. */
const LONG = Array.from({ length: 50 }, (_, n) => {
  const name = `${n}, `.repeat(n % 2 ? 1_000_000 / `${n}, `.length : 1);
  return { id: n - 50, name, tag: n % 2 ? 'common' : `${n}`.padEnd(3_000, 'y') };
});

/** For messages that can be read. */
const inShort = (plants: typeof LONG) => plants.map((plant) => `${plant.id} ${hash('sha256', JSON.stringify(plant))}`);

/** Lists, finds and searches them. */
async function expectLong(api: string, plants: typeof LONG): Promise<void> {
  const read = async (path: string): Promise<typeof LONG> => [JSON.parse((await request(api + path)).body)].flat();
  const listed: typeof LONG = [];
  const next = () => `/plants?limit=20&after=${listed.at(-1)?.id ?? -100}`;
  while (listed.length < plants.length) listed.push(...(await read(next())));
  expect(inShort(listed.slice(0, plants.length))).toEqual(inShort(plants));
  // 1.0.0 ends a page at a mebibyte.
  const tagged = await read('/plants?limit=20&tag=common');
  const common = plants.filter(({ tag }) => tag === 'common').slice(0, Math.max(1, tagged.length));
  expect(inShort(tagged)).toEqual(inShort(common));
  for (const path of ['/plants/-9', '/plants?limit=1&after=-10&name=41,%2041']) {
    expect(inShort(await read(path))).toEqual(inShort(plants.filter(({ id }) => id === -9)));
  }
}

/** Once a load has gone on for a while. */
const more = async (...loads: readonly Load[]) => {
  const before = loads.map((load) => load.acknowledged());
  await eventually(async () => loads.every((load, n) => load.acknowledged() > (before[n] ?? 0) + 100));
};

test('from the last release on Postgres, and back, loses nothing and no position', async () => {
  const former = await checkOut(RELEASED);
  const database = await emptyDatabase();
  const migrate = async (version: string) => {
    const program = startNode([join(version, 'src/migrate.ts'), 'up'], await temporaryFolder(), {
      DATABASE_URL: database.directUrl,
    });
    expect((await program.outcome()).code).toBe(0);
  };
  const ports = [await freePort(), await freePort()];
  const start = async (n: number, version: string) => {
    const service = await startWith({ DATABASE_URL: database.url, PORT: `${ports[n]}` }, { version });
    await eventually(async () => (await fetch(`${service.managementUrl}/ready`)).ok);
    return service;
  };

  await migrate(former);
  const services = [await start(0, former), await start(1, former)];
  const numbers = naturals();
  const loads = services.map(({ apiUrl }) => startLoad(apiUrl, numbers));
  await more(...loads);
  const api = `http://127.0.0.1:${ports[0]}`;
  const position = JSON.parse((await request(`${api}/changes`)).body).next;
  for (const plant of LONG) expect(await request(`${api}/plants`, 'POST', plant)).toMatchObject({ status: 200 });
  await expectLong(api, LONG);

  await migrate(today);
  await more(...loads);
  let left = LONG;
  for (const version of [former, today, former, today]) {
    for (const [n, service] of services.entries()) {
      services[n] = await replace(service, () => start(n, version));
      await more(...loads);
    }
    await expectLong(api, left);
    for (const { id } of left.slice(0, 2)) {
      expect(await request(`${api}/plants/${id}`, 'DELETE')).toMatchObject({ status: 204 });
    }
    left = left.slice(2);
  }
  expect(await request(`${api}/plants`, 'POST', left[0])).toMatchObject({ status: 400 });
  expect(await request(`${api}/changes?after=${position}`)).toMatchObject({ status: 200 });
  const stored = (await Promise.all(loads.map((load) => load.stop()))).flat();
  const table = await storedPlantsAt(database.directUrl);
  const others = table.filter(({ id }) => id >= 0n);
  expect(differences(stored, others)).toEqual([]);
});
