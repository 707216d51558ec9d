import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, expect, test } from '@jest/globals';
import { webhookTroubles } from '../../../tooling/webhook-troubles.ts';
import { TOKEN } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { forAllTests, forEachTest } from '../../support/lifetimes.ts';
import { samplesIn, sampleValue } from '../../support/monitoring/prometheus.ts';
import { ownPostgres } from '../../support/servers/own-postgres.ts';
import { projectFile, readiness, startNode, startService, temporaryFolder } from '../../support/service-process.ts';
import { migratedDatabase } from '../../support/test-database.ts';
import {
  hasAll,
  type Receiver,
  startReceiver,
  WEBHOOK_SECRET,
  webhooksTo,
} from '../../support/webhooks/webhook-receiver.ts';
import { record, sendTo, stopped } from '../../support/webhooks/webhook-service.ts';

/* An endpoint of webhooks in trouble, beside one that does well. The many ways to fail are in webhook-sender.test.ts. */

// On a server of its own: a transaction that other tests leave open would hold back the feed.
const database = forAllTests(async () => migratedDatabase((await ownPostgres()).url));
const receiver = forEachTest(startReceiver);
const other = forEachTest(startReceiver);

let folder: string;
let environment: Record<string, string>;
let nextId = 1n;
beforeEach(async () => {
  folder = await temporaryFolder();
  environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, ...webhooksTo(receiver.url, other.url) };
});

const command = (...args: readonly string[]) =>
  startNode([projectFile('src/webhooks.ts'), ...args], folder, environment).outcome();

const nameOf = ({ url }: Receiver) =>
  `${new URL(url).host} ${createHash('sha256').update(url).digest('hex').slice(0, 16)}`;

const lineOf = async (one: Receiver) =>
  (await command('status')).stdout.split('\n').find((line) => line.startsWith(nameOf(one)));

const fails =
  (status: number, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, headers).end();
    return true;
  };

async function createSome(send: ReturnType<typeof sendTo>, count = 5): Promise<bigint[]> {
  const ids = Array.from({ length: count }, () => nextId++);
  for (const id of ids) expect(await send('POST', '/plants', { body: record(id) })).toBe(200);
  return ids;
}

test('endpoints in every kind of trouble delay nothing else, and then get all', async () => {
  const seen = new Set<string>();
  const ended = new Set<string>();
  const troubled: Receiver[] = [];
  for (const [name, trouble] of Object.entries(webhookTroubles)) {
    const one = await startReceiver();
    one.trouble((...args) => {
      seen.add(name);
      args[1].once('close', () => ended.add(name));
      trouble(...args);
      return true;
    });
    troubled.push(one);
  }
  const urls = troubled.map(({ url }) => url);
  const service = await startService(folder, { ...environment, ...webhooksTo(other.url, ...urls) });
  const ids = await createSome(sendTo(service), 40);
  await eventually(() => hasAll(other, ids));
  await eventually(() => seen.size === troubled.length);
  // Whoever had waited for that would have waited until it was given up.
  expect(Object.keys(webhookTroubles)).toContain('does not respond');
  expect([...ended]).not.toContain('does not respond');
  expect(troubled.map(({ copy }) => copy.size)).toEqual(troubled.map(() => 0));
  for (const one of troubled) one.trouble(undefined);
  await eventually(() => troubled.every((one) => hasAll(one, ids)));
  await stopped(service);
});

test('is named with what fails, without its secrets, and gets nothing until it is due', async () => {
  // Not due before all this has been seen, however busy the machine is.
  receiver.trouble(fails(500, { 'Retry-After': '60' }));
  const service = await startService(folder, environment);
  const [first = 0n] = await createSome(sendTo(service));
  await eventually(() => service.stdout().includes('webhook failed'));
  const [line = ''] = /.*webhook failed.*/.exec(service.stdout()) ?? [];
  expect(JSON.parse(line)).toMatchObject({
    webhook: nameOf(receiver),
    id: `${first}`,
    reason: 'it responded with 500',
  });
  expect(await lineOf(receiver)).toMatch(
    /: tries again in \d\d s after 1 failed attempt \(it responded with 500, .*\); changes waiting: 5$/,
  );
  expect(await lineOf(other)).toMatch(/: delivers; changes waiting: 0$/);
  let metrics = '';
  const value = (name: string, one: Receiver) =>
    sampleValue(samplesIn(metrics), `plant_store_webhook_${name}`, { endpoint: nameOf(one) });
  await eventually(async () => {
    metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
    return Number(value('lag_seconds', receiver)) > 0;
  });
  expect([value('delivered_total', receiver), value('delivered_total', other)]).toEqual([0, 5]);
  expect(value('lag_seconds', other)).toBe(0);
  expect([value('parked', receiver), value('parked', other)]).toEqual([0, 0]);
  const said = service.stdout() + service.stderr() + metrics;
  for (const hidden of [WEBHOOK_SECRET, WEBHOOK_SECRET.slice(6), receiver.url]) expect(said).not.toContain(hidden);
  receiver.trouble(undefined);
  await database.query('update webhooks set retry_at = now() where retry_at > now()');
  await eventually(() => receiver.copy.has(first));
  await stopped(service);
});

test('is parked by 410, which /ready says without failing, and goes on once resumed', async () => {
  receiver.trouble(fails(410));
  const service = await startService(folder, environment);
  const ids = await createSome(sendTo(service));
  const ready = () => readiness(service);
  await eventually(async () => (await ready()).checks.database !== 'ok');
  const { status, checks } = await ready();
  expect([status, checks.database]).toEqual([
    200,
    expect.stringContaining(`${nameOf(receiver)} (it responded with 410)`),
  ]);
  expect(await lineOf(receiver)).toMatch(
    /: parked after 1 failed attempt \(it responded with 410, .*\); changes waiting: 5$/,
  );
  receiver.trouble(undefined);
  expect(await command('resume', receiver.url)).toMatchObject({
    code: 0,
    stdout: `${nameOf(receiver)}: tries again now\n`,
  });
  await eventually(() => hasAll(receiver, ids));
  expect((await ready()).checks.database).toBe('ok');
  await stopped(service);
});

test('goes on behind a plant that is skipped, whose next state it gets', async () => {
  const service = await startService(folder, environment);
  const send = sendTo(service);
  const poisoned = nextId + 2n;
  receiver.trouble((request, response) => {
    if (!`${request.headers['webhook-id']}`.includes(`_${poisoned}_`)) return false;
    return fails(500)(request, response);
  });
  const ids = await createSome(send);
  await eventually(() => service.stdout().includes('webhook failed'));
  expect(await command('skip', other.url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`\n${nameOf(other)} has nothing to skip: its last attempt did not fail\n`),
  });
  // Each of those before it may have failed beside it.
  await eventually(async () => (await lineOf(receiver))?.includes(`the id ${poisoned})`) === true);
  expect(await command('skip', receiver.url)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`: skipped the plant with the id ${poisoned} as of change \\d+\n$`),
  });
  const others = ids.filter((id) => id !== poisoned);
  await eventually(() => hasAll(receiver, others));
  expect(receiver.copy.has(poisoned)).toBe(false);
  receiver.trouble(undefined);
  expect(await send('PUT', `/plants/${poisoned}`, { body: '{"name":"changed"}' })).toBe(200);
  await eventually(() => receiver.copy.get(poisoned)?.plant.name === 'changed');
  await stopped(service);
});

test.each([
  [['status', 'https://one.example/'], /^status takes no URL: it shows every endpoint\nFor help: /],
  [['pause', 'https://one.example/'], /^the command must be status, resume, skip or rewind\nFor help: /],
  [['rewind', 'https://one.example/', 'https://two.example/'], /^rewind takes one URL\n/],
  [['skip', 'one.example'], /^skip needs the URL of the endpoint\n/],
  [['resume', 'https://one.example/'], /^one\.example [\da-f]{16} is not in this database: /m],
])('is told to operators who write %j', async (args, message) => {
  expect(await command(...args)).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
});
