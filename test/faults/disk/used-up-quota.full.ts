import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { execute } from '../../../tooling/execute.ts';
import { NOBODY } from '../../../tooling/postgres-server.ts';
import { get, post, TOKEN } from '../../support/api-server.ts';
import { migratedPostgres } from '../../support/servers/own-postgres.ts';
import { readiness, type Service, startService, startWith, temporaryFolder } from '../../support/service-process.ts';

/*
 * A database that may not write more, as with a used-up quota: the files of its processes may only grow so large, which
 * reaches Postgres in the same way. A file of its log has 16 MiB.
 */

const run = promisify(execFile);

const LIMIT = 20_480_000;

async function limited(DATA_DIR: string): Promise<Service> {
  const environment = { DATA_DIR, ACCESS_TOKENS: TOKEN, STORE_TIMEOUT: '20s' };
  // In blocks of 512 octets.
  const wrapper = ['sh', '-c', `ulimit -f ${LIMIT / 512}; exec "$@"`, 'sh'];
  return startService('/', environment, { wrapper });
}

const services: [string, () => Promise<Service>][] = [
  ['the embedded database', async () => limited(await temporaryFolder())],
  [
    'Postgres',
    async () => {
      const { url } = await migratedPostgres();
      const service = await startWith({ DATABASE_URL: url, POOL_SIZE: '1', STORE_TIMEOUT: '20s' });
      expect((await create(service, 0, 'before')).status).toBe(200);
      const backends = await execute(url, "select pid from pg_stat_activity where application_name = 'plant-store'");
      // Even root may need to be who runs them.
      const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
      for (const { pid } of backends) await run('prlimit', [`--fsize=${LIMIT}`, '--pid', `${pid}`], user);
      return service;
    },
  ],
];

/** Four octets for each character, which Postgres does not compress much. */
const longName = () => String.fromCodePoint(...Array.from(randomBytes(1_000), (octet) => 0x1f300 + octet));

const create = ({ apiUrl }: Service, id: number, name: string) => post(apiUrl, JSON.stringify({ id, name }));

test.each(services)('%s: who writes gets 503, who reads is served, and operators are told', async (_name, start) => {
  const service = await start();
  expect((await create(service, 1, 'first')).status).toBe(200);
  let id = 2;
  let refused: Response | undefined;
  for (let responses: Response[]; refused === undefined; id += refused ? responses.indexOf(refused) : 32) {
    responses = await Promise.all(Array.from({ length: 32 }, (_, n) => create(service, id + n, longName())));
    refused = responses.find(({ status }) => status !== 200);
  }
  expect(id).toBeGreaterThan(500);
  expect([refused.status, await refused.json()]).toEqual([
    503,
    {
      error: 50300,
      message: 'the store has no disk space left: its operators must make room; sending the same request again is safe',
    },
  ]);
  const database = expect.stringMatching(/^ok, but the disk of the database is full, or its quota is used up/);
  expect(await readiness(service)).toMatchObject({ status: 200, checks: { database } });
  expect((await get(service.apiUrl, '/plants/1')).status).toBe(200);
  expect((await get(service.apiUrl, `/plants/${id}`)).status).toBe(404);
});
