import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { differences } from '../support/plants/changes.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import { clients, copiedPlants, python, startClient } from '../support/programs/example-programs.ts';
import { type NodeProcess, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';
import { WEBHOOK_SECRET } from '../support/webhooks/webhook-receiver.ts';
import { rename, sendTo, startAnnouncing, stopped } from '../support/webhooks/webhook-service.ts';

/* What the clients in examples do with webhooks: Python's receives them, and those in TypeScript and shell verify one. */

const database = forEachTest(migratedDatabase);

const FILE = 'plants.sqlite';

/** A webhook as the service would sign it: its headers and its body. */
function webhook(
  changed: number,
  body: string,
  { epoch = 'ab'.repeat(16), secret = WEBHOOK_SECRET, at = new Date() } = {},
) {
  const id = `msg_${epoch}_${`${changed}`.padStart(19, '0')}_1_0123456789abcdef`;
  const timestamp = `${Math.floor(at.getTime() / 1_000)}`;
  return { id, timestamp, signature: `v1,AAAA ${new Webhook(secret).sign(id, at, body)}`, body };
}

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 'x').toString('base64')}`;
const LONG_AGO = () => new Date(Date.now() - 400_000);

describe.each(clients.filter((client) => client !== python))('the client in $language', (client) => {
  async function verify({ id, timestamp, signature, body }: ReturnType<typeof webhook>, secret = WEBHOOK_SECRET) {
    const started = startClient(client, ['verify', id, timestamp, signature], '', { WEBHOOK_SECRET: secret });
    started.stdin.end(body);
    return started.outcome();
  }

  const PLANT = '{"id":9223372036854775807,"name":"Pinus"}';

  test('prints what the service has signed, its id exact', async () => {
    expect(await verify(webhook(1, PLANT))).toEqual({ code: 0, stdout: `${PLANT}\n`, stderr: '' });
  });

  test('refuses what the service has not signed, or a long time ago', async () => {
    const refused = { code: 1, stdout: '', stderr: expect.stringMatching(/^the service has not sent this: .*\n$/) };
    expect(await verify(webhook(1, PLANT, { secret: OTHER_SECRET }))).toEqual(refused);
    expect(await verify(webhook(1, PLANT, { at: LONG_AGO() }))).toEqual(refused);
    expect(await verify({ ...webhook(1, PLANT), body: PLANT.replace('Pinus', 'Abies') })).toEqual(refused);
    expect(await verify(webhook(1, PLANT), '')).toMatchObject({ code: 1, stderr: NO_SECRET });
  });
});

const NO_SECRET = expect.stringMatching(/^WEBHOOK_SECRET must be that of the service: whsec_\.\.\.\n$/);

describe('the receiver in Python', () => {
  const start = (port: string, WEBHOOK_SECRET: string) =>
    startClient(python, ['receive', FILE, '--port', port], '', { cwd: folder, WEBHOOK_SECRET });

  let folder: string;
  let receiver: NodeProcess;
  let url: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    receiver = start('0', WEBHOOK_SECRET);
    await receiver.until(() => receiver.stdout().includes('\n'));
    url = /receiving webhooks at (\S+)\n/.exec(receiver.stdout())?.[1] ?? '';
  });
  afterEach(async () => {
    expect(receiver.stderr()).toBe('');
    receiver.kill('SIGKILL');
    await receiver.exited;
  });

  const copied = () => copiedPlants(join(folder, FILE));

  test('has the plants of the service, also those that change, exactly', async () => {
    const service = await startAnnouncing(database.url, { url });
    const send = sendTo(service);
    const texts = ['', '\uFEFF', 'e\u0301', '\u{1F339}', '"\\', '\r\n'];
    const plants = Array.from({ length: 300 }, (_, n) => {
      const text = texts[n % texts.length] ?? '';
      return { id: -(2n ** 63n) + BigInt(n), name: `${text}${n}`, ...(n % 3 === 0 && { tag: text }) };
    });
    for (const body of linesOf(plants).split('\n')) expect(await send('POST', '/plants', { body })).toBe(200);
    for (const { id } of plants.slice(0, 50)) expect(await send(...rename(id, 'changed'))).toBe(200);
    const wanted = await storedPlantsAt(database.directUrl);
    await eventually(() => differences(copied(), wanted).length === 0);
    expect(wanted).toHaveLength(300);
    await stopped(service);
  });

  async function post(changed: number, name: string, options: Parameters<typeof webhook>[2] = {}) {
    const { id, timestamp, signature, body } = webhook(changed, JSON.stringify({ id: 1, name }), options);
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    return (await fetch(url, { method: 'POST', headers, body })).status;
  }
  const name = () => copied()[0]?.name;

  test('ignores repetitions and what comes late, but not what follows a restore', async () => {
    expect(await post(5, 'five')).toBe(204);
    expect(await post(4, 'four')).toBe(204);
    expect(await post(5, 'five again')).toBe(204);
    expect(name()).toBe('five');
    expect(await post(6, 'six')).toBe(204);
    expect(name()).toBe('six');
    expect(await post(1, 'restored', { epoch: 'cd'.repeat(16) })).toBe(204);
    expect(name()).toBe('restored');
  });

  test('refuses what the service has not signed, or a long time ago', async () => {
    expect(await post(1, 'forged', { secret: OTHER_SECRET })).toBe(401);
    expect(await post(1, 'old', { at: LONG_AGO() })).toBe(401);
    expect((await fetch(url, { method: 'POST', body: '{"id":1,"name":"unsigned"}' })).status).toBe(401);
    expect(copied()).toEqual([]);
  });
});
