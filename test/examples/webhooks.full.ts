import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { sorted } from '../support/plants/changes.ts';
import { linesOf } from '../support/plants/plant-lines.ts';
import { copiedPlants } from '../support/programs/example-programs.ts';
import { type NodeProcess, projectFile, startNode, startProgram, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';
import { WEBHOOK_SECRET } from '../support/webhooks/webhook-receiver.ts';
import { rename, sendTo, startAnnouncing, stopped } from '../support/webhooks/webhook-service.ts';

/* examples/receive-webhooks.py and examples/client/receive-webhooks.ts. */

const database = forEachTest(migratedDatabase);

const FILE = 'plants.sqlite';

type Start = (args: readonly string[], folder: string, secret?: string) => NodeProcess;

const inPython: Start = ([file = '', port = ''], folder, WEBHOOK_SECRET = '') =>
  startProgram('python3', [projectFile('examples/receive-webhooks.py'), file, '--port', port], {
    cwd: folder,
    env: { PATH: process.env.PATH, WEBHOOK_SECRET },
  });

const inTypeScript: Start = (args, folder, WEBHOOK_SECRET = '') =>
  startNode([projectFile('examples/client/receive-webhooks.ts'), ...args], folder, { WEBHOOK_SECRET });

describe.each([
  ['Python', inPython],
  ['TypeScript', inTypeScript],
])('the receiver in %s', (_, start) => {
  let folder: string;
  let receiver: NodeProcess;
  let url: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    receiver = start([FILE, '0'], folder, WEBHOOK_SECRET);
    await receiver.until(() => receiver.stdout().includes('\n'));
    url = /receiving webhooks at (\S+)\n/.exec(receiver.stdout())?.[1] ?? '';
  });
  afterEach(async () => {
    expect(receiver.stderr().replace(/.*ExperimentalWarning.*\n.*trace-warnings.*\n/, '')).toBe('');
    receiver.kill('SIGKILL');
    await receiver.exited;
  });

  const copied = () => copiedPlants(join(folder, FILE));

  test('has the plants of the service, also those that change, with all their digits and letters', async () => {
    const service = await startAnnouncing(database.url, { url });
    const send = sendTo(service);
    const texts = ['', '\uFEFF', 'e\u0301', '\u{1F339}', '"\\', '\r\n'];
    const plants = Array.from({ length: 300 }, (_, n) => {
      const text = texts[n % texts.length] ?? '';
      return { id: -(2n ** 63n) + BigInt(n), name: `${text}${n}`, ...(n % 3 === 0 && { tag: text }) };
    });
    for (const body of linesOf(plants).split('\n')) expect(await send('POST', '/plants', { body })).toBe(200);
    for (const { id } of plants.slice(0, 50)) expect(await send(...rename(id, 'changed'))).toBe(200);
    const wanted = sorted(await storedPlantsAt(database.directUrl));
    await eventually(() => linesOf(copied()) === linesOf(wanted));
    expect(wanted).toHaveLength(300);
    await stopped(service);
  });

  const EPOCH = 'ab'.repeat(16);
  async function post(changed: number, name: string, { epoch = EPOCH, secret = WEBHOOK_SECRET, at = new Date() } = {}) {
    const body = JSON.stringify({ id: 1, name });
    const id = `msg_${epoch}_${`${changed}`.padStart(19, '0')}_1_0123456789abcdef`;
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': `${Math.floor(at.getTime() / 1_000)}`,
      'webhook-signature': `v1,AAAA ${new Webhook(secret).sign(id, at, body)}`,
    };
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
    const other = `whsec_${Buffer.alloc(32, 'x').toString('base64')}`;
    expect(await post(1, 'forged', { secret: other })).toBe(401);
    expect(await post(1, 'old', { at: new Date(Date.now() - 400_000) })).toBe(401);
    expect((await fetch(url, { method: 'POST', body: '{"id":1,"name":"unsigned"}' })).status).toBe(401);
    expect(copied()).toEqual([]);
  });

  test('says in one line that there is no secret, or that its port is in use', async () => {
    const without = await start([FILE, '0'], folder).outcome();
    expect(without).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^WEBHOOK_SECRET must be that of the service: whsec_\.\.\.\n/m),
    });
    const again = await start([FILE, new URL(url).port], folder, WEBHOOK_SECRET).outcome();
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/^cannot listen on port \d+ \(.+\)\n/m) });
  });
});
