import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Session } from '../../tooling/session.ts';

/** An endpoint of webhooks, at any of its paths, that acknowledges whatever comes. @returns its URL, and what came */
export async function startReceiver({ opened }: Session): Promise<{ url: string; count: () => number }> {
  let received = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received++;
      response.writeHead(204).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, count: () => received };
}

/** The settings of a service that sends to so many paths of it. */
export function webhookEnvironment(receiver: string, endpoints = 1): Record<string, string> {
  if (endpoints === 0) return {};
  const urls = Array.from({ length: endpoints }, (_, n) => `${receiver}${n}`);
  return { WEBHOOK_URLS: urls.join(), WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
}
