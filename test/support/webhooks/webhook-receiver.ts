import assert from 'node:assert/strict';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { sorted } from '../plants/changes.ts';
import { linesOf, plantsOf } from '../plants/plant-lines.ts';
import { closed, listening } from '../servers/local-server.ts';

/* A receiver of webhooks, which does what docs/webhooks.md asks of one. */

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 'secret of the tests').toString('base64')}`;

/** What makes the service send to these. */
export const webhooksTo = (...urls: readonly string[]) => ({ WEBHOOK_URLS: urls.join(), WEBHOOK_SECRET });

/** The same, where nobody listens. */
export const UNHEARD = webhooksTo('http://127.0.0.1:9/');

interface State {
  readonly plant: NewPlant;
  readonly epoch: string;
  readonly changed: bigint;
}

/** Handles a request in place of the receiver. @returns whether it did */
type Trouble = (request: IncomingMessage, response: ServerResponse) => boolean;

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Whether it has all of these plants. */
export const hasAll = (one: Receiver, ids: readonly bigint[]) => ids.every((id) => one.copy.has(id));

/** Those of its copy that the table still has: deletions are not announced. */
export const living = ({ copy }: Receiver, table: readonly NewPlant[]) =>
  sorted(table.flatMap(({ id }) => copy.get(id)?.plant ?? []));

/** Whether it has each plant as it is in the table. */
export const agrees = (one: Receiver, table: readonly NewPlant[]) =>
  linesOf(living(one, table)) === linesOf(sorted(table));

/** States that it was sent more than once, also in several epochs. */
export const resent = ({ received }: Receiver) =>
  received.length - new Set(received.map(({ id }) => id.replace(/^msg_[^_]*/, ''))).size;

/**
 * Starts one, on the same port each time, until the end of the test.
 *
 * @param tls what makes it one at https://localhost
 */
export async function startReceiver(tls?: { readonly certificate: string; readonly key: string }) {
  const webhook = new Webhook(WEBHOOK_SECRET);
  const copy = new Map<bigint, State>();
  const received: { id: string; body: string }[] = [];
  const bodies = new Map<string, string>();
  let [forged, port] = [0, 0];
  let trouble: Trouble | undefined;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (trouble?.(request, response)) return;
    const body = await text(request);
    try {
      webhook.verify(body, request.headers as Record<string, string>);
    } catch {
      forged++;
      response.writeHead(401).end();
      return;
    }
    const id = `${request.headers['webhook-id']}`;
    received.push({ id, body });
    // The same id is the same state.
    assert.equal(bodies.get(id) ?? body, body);
    bodies.set(id, body);
    keep(id, body);
    response.writeHead(204).end();
  }

  function keep(id: string, body: string): void {
    const [, epoch = '', digits = ''] = id.split('_');
    const [plant] = plantsOf(body);
    assert(plant !== undefined);
    const last = copy.get(plant.id);
    const changed = BigInt(digits);
    if (last?.epoch === epoch && changed <= last.changed) return;
    copy.set(plant.id, { plant, epoch, changed });
  }

  let server: HttpServer = createServer();
  async function start(): Promise<void> {
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void handle(request, response).catch(() => response.destroy());
    server = tls ? createTlsServer({ cert: tls.certificate, key: tls.key }, listener) : createServer(listener);
    server.keepAliveTimeout = 60_000;
    port = await listening(server, port);
  }
  await start();
  return {
    url: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${port}/plants`,
    /** By the rule of webhook-id, from what was acknowledged. */
    copy: copy as ReadonlyMap<bigint, State>,
    /** The bodies in the order in which they came, with the id of each. */
    received,
    /** Requests whose signature was not right. */
    forged: () => forged,
    /** Messages that came more than once with the same id. */
    repeated: () => received.length - bodies.size,
    trouble(handle: Trouble | undefined): void {
      trouble = handle;
    },
    /** Resets every connection, and refuses new ones until `start`. */
    kill: () => closed(server),
    start,
  };
}
