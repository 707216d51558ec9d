import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { freePort } from '../../tooling/free-port.ts';
import { get, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { selfSignedCertificate } from '../support/servers/certificate.ts';
import { runCommand, startMain, startService, startWith, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';
import { hasAll, type Receiver, startReceiver, UNHEARD, webhooksTo } from '../support/webhooks/webhook-receiver.ts';
import { create, record, sendTo, stopped } from '../support/webhooks/webhook-service.ts';

/* Webhooks of the service as a process. */

const receiver = forEachTest(startReceiver);
const other = forEachTest(startReceiver);

const hasReceived = ({ received }: Receiver, count: number) => received.length === count;

/** Sorted: those of a page are sent at the same time. */
const bodies = ({ received }: Receiver) => received.map(({ body }) => body).toSorted();

describe.each<[string, () => Promise<Record<string, string>>]>([
  ['the embedded database', async () => ({ DATA_DIR: await temporaryFolder() })],
  ['Postgres', async () => ({ DATABASE_URL: (await migratedDatabase()).url })],
])('on %s', (_, database) => {
  test('goes on where it was, and begins at the end for a new endpoint until a rewind', async () => {
    const folder = await temporaryFolder();
    const environment = { ...(await database()), ACCESS_TOKENS: TOKEN };
    const first = await startService(folder, { ...environment, ...webhooksTo(receiver.url) });
    const send = sendTo(first);
    const body = '{"id":9223372036854775807,"name":"Pinus longaeva \\u00e9","tag":""}';
    const path = '/plants/9223372036854775807';
    for (const _ of [1, 2]) expect(await send('POST', '/plants', { body })).toBe(200);
    await eventually(() => hasReceived(receiver, 1));
    for (const _ of [1, 2]) expect(await send('PUT', path, { body: '{"name":"changed"}' })).toBe(200);
    await eventually(() => hasReceived(receiver, 2));
    expect(await send('DELETE', path)).toBe(204);
    expect(await send(...create(1n))).toBe(200);
    await eventually(() => hasReceived(receiver, 3));
    const announced = [
      '{"id":9223372036854775807,"name":"Pinus longaeva é","tag":""}',
      '{"id":9223372036854775807,"name":"changed"}',
      record(1n),
    ];
    expect(receiver.received.map(({ body }) => body)).toEqual(announced);
    await stopped(first);

    const between = await startService(folder, environment);
    expect(await sendTo(between)(...create(2n))).toBe(200);
    // Before that, an older transaction of any database of the server may be open, and the end of the feed before the plant.
    await eventually(async () => (await (await get(between.apiUrl, '/changes')).text()).includes(record(2n)));
    await stopped(between);
    const both = webhooksTo(receiver.url, other.url);
    const second = await startService(folder, { ...environment, ...both });
    expect(await sendTo(second)(...create(3n))).toBe(200);
    await eventually(() => hasAll(receiver, [2n, 3n]) && other.copy.has(3n));
    expect(bodies(receiver)).toEqual([...announced, record(2n), record(3n)].toSorted());
    expect([receiver.forged(), receiver.repeated()]).toEqual([0, 0]);
    expect(bodies(other)).toEqual([record(3n)]);
    await stopped(second);

    const webhooks = (...args: string[]) => runCommand('webhooks', args, environment, folder);
    expect((await webhooks('rewind', other.url)).code).toBe(0);
    // The deletion, too.
    expect((await webhooks('status')).stdout).toMatch(
      /^(\S+ \w+: no instance delivers to it now; changes waiting: [04]\n){2}$/,
    );
    const third = await startService(folder, { ...environment, ...both });
    await eventually(() => hasReceived(other, 4));
    expect(bodies(other)).toEqual([record(1n), record(2n), record(3n), record(3n)]);
    expect(other.repeated()).toBe(1);
    expect(receiver.received).toHaveLength(5);
    await stopped(third);
  });
});

test('several instances send each plant once, and leave the rest to others at the end', async () => {
  const agents = new Set<string | undefined>();
  receiver.trouble(({ headers }) => {
    agents.add(headers['user-agent']);
    return false;
  });
  const { url: DATABASE_URL, query } = await migratedDatabase();
  const start = () => startWith({ DATABASE_URL, ...webhooksTo(receiver.url) });
  const services = [await start(), await start()];
  const ids = Array.from({ length: 300 }, (_, n) => BigInt(n));
  const sends = services.map(sendTo);
  const statuses = await Promise.all(ids.map((id) => sends[Number(id % 2n)]?.(...create(id))));
  expect(new Set(statuses)).toEqual(new Set([200]));
  await eventually(() => hasAll(receiver, ids));
  expect([receiver.received.length, receiver.forged()]).toEqual([300, 0]);
  expect([...agents]).toEqual([expect.stringMatching(/^plant-store\/\d+\.\d+\.\d+$/)]);
  for (const service of services) await stopped(service);
  // A lease that is not released would have to expire first.
  expect(await query('select holder from webhooks')).toEqual([{ holder: null }]);
});

test('reads do not wait for the row of an endpoint that a read-only server cannot add', async () => {
  const database = await migratedDatabase();
  await database.query(`insert into plants values (1, 'plant 1')`);
  const [{ name } = {}] = await database.query('select current_database() as name');
  await database.query(`alter database "${name}" set default_transaction_read_only = on`);
  const service = await startWith({ DATABASE_URL: database.url, STORE_TIMEOUT: '10s', ...UNHEARD });
  const send = sendTo(service);
  expect(await send('GET', '/plants/1')).toBe(200);
  expect(await send('GET', '/plants')).toBe(200);
  expect(await send(...create(2n))).toBe(503);
  await stopped(service);
});

test('over TLS, sends only to whom Node.js or NODE_EXTRA_CA_CERTS certifies', async () => {
  const [known, elsewhere] = [selfSignedCertificate('localhost'), selfSignedCertificate('elsewhere')];
  const certified = await startReceiver(known);
  const refused = [await startReceiver(elsewhere), await startReceiver(selfSignedCertificate('other-localhost'))];
  const folder = await temporaryFolder();
  const NODE_EXTRA_CA_CERTS = join(folder, 'authorities.pem');
  await writeFile(NODE_EXTRA_CA_CERTS, known.certificate + elsewhere.certificate);
  const webhooks = webhooksTo(certified.url, ...refused.map(({ url }) => url));
  const { url: DATABASE_URL } = await migratedDatabase();
  const service = await startService(folder, { DATABASE_URL, ACCESS_TOKENS: TOKEN, NODE_EXTRA_CA_CERTS, ...webhooks });
  expect(await sendTo(service)(...create(1n))).toBe(200);
  // Each once, though it may have been tried again by then.
  const failures = () => [...new Set(service.stdout().match(/"reason":"[^"]*"/g))].toSorted();
  await eventually(() => certified.received.length === 1 && failures().length === 2);
  expect(failures()).toEqual([
    expect.stringContaining("Hostname/IP does not match certificate's altnames"),
    expect.stringContaining('self-signed certificate'),
  ]);
  expect(refused.map(({ received }) => received)).toEqual([[], []]);
  await stopped(service);
});

test('a database that is down does not hold up the start', async () => {
  const DATABASE_URL = `postgres://postgres@127.0.0.1:${await freePort()}/plants`;
  await stopped(await startWith({ DATABASE_URL, STORE_TIMEOUT: '10m', ...webhooksTo(receiver.url) }));
});

test('a table that Citus distributes stops the start, since it has no feed', async () => {
  const database = await migratedDatabase();
  // What there is of Citus in the catalogue.
  await database.query(`set allow_system_table_mods = on;
    create table pg_catalog.pg_dist_partition (logicalrelid regclass);
    grant select on pg_catalog.pg_dist_partition to public;
    insert into pg_catalog.pg_dist_partition values ('plants')`);
  const environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, ...webhooksTo(receiver.url) };
  const service = startMain(await temporaryFolder(), environment);
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(service.stderr()).toMatch(/Webhooks need the feed .* Citus .*: unset WEBHOOK_URLS and WEBHOOKS_FILE\./);
});
