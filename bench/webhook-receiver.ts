import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Session } from '../tooling/session.ts';

/** An endpoint of webhooks that acknowledges whatever comes. */
export interface Receiver {
  /** Any path of it is an endpoint. */
  readonly url: string;
  /** How many requests have come, at all paths. */
  count(): number;
}

export async function startReceiver(session: Session): Promise<Receiver> {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      received++;
      response.writeHead(204).end();
    });
  });
  return { url: await listening(server, session), count: () => received };
}

/** @returns the URL of its root */
export async function listening(server: Server, { opened }: Session): Promise<string> {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The settings of a service that sends to these. */
export function webhookEnvironment(urls: readonly string[]): Record<string, string> {
  if (urls.length === 0) return {};
  return { WEBHOOK_URLS: urls.join(), WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
}
