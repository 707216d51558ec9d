import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { counts, runImport, startImport } from '../support/programs/import-process.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* An import in the middle of which the service or the command is killed. */

const PLANTS = 60_000;

test.each([
  ['with ids', (n: number) => `${n},plant ${n}`, 'id,name', []],
  ['numbered', (n: number) => `plant ${n}`, 'name', ['--ids-from', '0']],
])(
  '%s, killed and repeated, stores nothing twice and leaves nothing out',
  async (_what, line, names, args) => {
    const database = await migratedDatabase();
    const folder = await temporaryFolder();
    const list = Array.from({ length: PLANTS }, (_, n) => `${line(n)}\n`).join('');
    await writeFile(join(folder, 'plants.csv'), `${names}\n${list}`);
    const url = `http://127.0.0.1:${await freePort()}`;
    const settings = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, PORT: new URL(url).port };
    const client = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
    const stored = async () => (await database.query('select from plants')).length;
    let service = await startService(folder, settings);

    const killed = startImport(['plants.csv', ...args], folder, client);
    await eventually(async () => (await stored()) > 1_000);
    killed.kill('SIGKILL');
    await killed.exited;
    const importing = startImport(['plants.csv', ...args], folder, client);
    const before = await stored();
    // All, if the first one had come so far before it was killed.
    await eventually(async () => (await stored()) >= Math.min(before + 10_000, PLANTS));
    service.kill('SIGKILL');
    await service.exited;
    service = await startService(folder, settings);
    expect(await importing.outcome()).toMatchObject({ code: 0 });
    const wrong = `select from plants where name <> 'plant ' || id`;
    expect([await stored(), await database.query(wrong)]).toEqual([PLANTS, []]);
    const again = await runImport(['plants.csv', ...args], folder, client);
    expect(counts(again.stdout)).toEqual({ created: 0, changed: 0, unchanged: PLANTS, refused: 0 });
  },
  300_000,
);
