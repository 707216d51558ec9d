import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, jest, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { execute } from '../../../../tooling/execute.ts';
import { apiClient } from '../../../support/api-client.ts';
import { TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { send } from '../../../support/load-clients.ts';
import { promote, shutDown } from '../../../support/servers/own-postgres.ts';
import { severalHosts } from '../../../support/servers/several-hosts.ts';
import { startSynchronousPair } from '../../../support/servers/synchronous-pair.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import {
  projectFile,
  type Service,
  startNode,
  startService,
  temporaryFolder,
} from '../../../support/service-process.ts';

/* The service and its commands with a DATABASE_URL that names a standby and its primary, without a proxy. */

jest.setTimeout(300_000);

const pair = forEachTest(startSynchronousPair);
/** In front of the primary. */
const network = forEachTest(() => startTcpProxy(pair.primary.url));
let environment: Record<string, string>;
beforeEach(() => {
  environment = { DATABASE_URL: severalHosts(pair.standby.url, network.url), ACCESS_TOKENS: TOKEN };
});

const plant = (id: number): NewPlant => ({ id: BigInt(id), name: `plant ${id}` });
const create = async ({ apiUrl }: Service, id: number) => (await send(apiUrl, plant(id))).status;

const ready = async ({ managementUrl }: Service) => (await fetch(`${managementUrl}/ready`)).status;
async function run(name: string, ...args: readonly string[]) {
  return startNode([projectFile(`src/${name}.ts`), ...args], await temporaryFolder(), environment).outcome();
}

test.each([
  ['was killed', () => shutDown(pair.primary, 'SIGKILL')],
  ['does not respond any more', async () => network.swallow()],
])('creates on the primary, and on the promoted standby once the primary %s', async (_, lose) => {
  const service = await startService(await temporaryFolder(), environment);
  expect(await Promise.all([1, 2, 3].map((id) => create(service, id)))).toEqual([200, 200, 200]);
  expect(await ready(service)).toBe(200);
  await lose();
  expect(await create(service, 4)).toBe(503);
  await promote(pair.standby);
  await eventually(async () => (await create(service, 4)) === 200, 20_000);
  expect(await create(service, 1)).toBe(200);
  expect(await ready(service)).toBe(200);
  expect(await execute(pair.standby.url, 'select id from plants order by id')).toEqual(
    ['1', '2', '3', '4'].map((id) => ({ id })),
  );
});

test('refuses no write by what a standby has, which may be behind', async () => {
  const onStandby = { ...environment, DATABASE_URL: pair.standby.url, STORE_TIMEOUT: '1s' };
  const service = await startService(await temporaryFolder(), onStandby);
  const client = apiClient(service.apiUrl);
  const body = '{"id":1,"name":"Monstera deliciosa"}';
  const responses = [
    await client.send('POST', '/plants', { body }),
    await client.send('PUT', '/plants/1', { body, ifMatch: '"another"' }),
    await client.send('DELETE', '/plants/1'),
  ];
  client.close();
  expect(responses.map(({ error }) => error)).toEqual([50300, 50300, 50300]);
});

test('migrates, imports, exports and purges on the primary', async () => {
  const file = join(await temporaryFolder(), 'plants.ndjson');
  await writeFile(file, '{"id":1,"name":"Monstera deliciosa"}\n');
  expect(await run('migrate', 'down')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('migrate')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('migrate', 'status')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('pending') });
  expect(await run('import', file)).toMatchObject({ code: 0 });
  expect(await execute(pair.primary.url, 'select id from plants')).toEqual([{ id: '1' }]);
  expect(await run('export', '-', '--format', 'ndjson')).toMatchObject({
    code: 0,
    stdout: '{"id":1,"name":"Monstera deliciosa"}\n',
  });
  expect(await run('purge', '--deleted-before', '0s', '--yes')).toMatchObject({ code: 0 });
});
