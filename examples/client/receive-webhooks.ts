import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { parseExactly } from './exact-json.ts';
import type { webhooks } from './plant-store.ts';
import { stop } from './service.ts';

/*
 * Receives the webhooks of a service, and keeps a copy of the plants in an SQLite file:
 *
 *   export WEBHOOK_SECRET=whsec_...
 *   npm run receive-webhooks -w examples/client -- plants.sqlite 8080
 *
 * Deletions have no webhook: the feed of changes has them.
 */

type NewPlant = webhooks['newPlant']['post']['requestBody']['content']['application/json'];

const [file, port = '8080'] = process.argv.slice(2);
const { WEBHOOK_SECRET: secret = '' } = process.env;
if (file === undefined || !/^\d{1,5}$/.test(port)) stop('usage: receive-webhooks FILE [PORT]', 2);
if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) stop('WEBHOOK_SECRET must be that of the service: whsec_...');

const webhook = new Webhook(secret);
const copy = new DatabaseSync(file);
copy.exec(`
  pragma journal_mode = wal;
  create table if not exists plants
    (id integer primary key, name text not null, tag text, epoch text not null, changed integer not null)`);

// Webhooks come more than once, and late ones may come after newer ones. Within an epoch the greater number is the later
// state; after a restore or a failover of the service's database there is a new epoch.
const store = copy.prepare(`
  insert into plants (id, name, tag, epoch, changed) values (?, ?, ?, ?, ?) on conflict (id) do update
    set name = excluded.name, tag = excluded.tag, epoch = excluded.epoch, changed = excluded.changed
    where epoch <> excluded.epoch or changed < excluded.changed`);

/** @returns the status */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await buffer(request);
  try {
    webhook.verify(body, request.headers as Record<string, string>);
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 401;
    throw error;
  }
  const [, epoch = '', changed = ''] = String(request.headers['webhook-id']).split('_');
  // The parser of the package would round ids.
  const { id, name, tag } = parseExactly(body.toString()) as NewPlant;
  store.run(id, name, tag ?? null, epoch, BigInt(changed));
  // Only now: what is acknowledged does not come again.
  return 204;
}

const server = createServer(async (request, response) => {
  const status = await receive(request).catch((error) => {
    console.error(error);
    return 500;
  });
  response.writeHead(status).end();
});
server.on('error', ({ message }) => stop(`cannot listen on port ${port} (${message})`));
// Longer than the service keeps an unused connection.
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1', () => {
  console.log(`receiving webhooks at http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
