import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that serves a server under the path /garden. Disposing of it closes its connections. */
export async function startPrefixProxy(target: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const proxy = createServer((from, to) => {
    const path = (from.url ?? '').replace(/^\/garden/, '');
    const { method, headers } = from;
    from.pipe(
      request(`${target}${path}`, { method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(to);
      }).on('error', () => to.destroy()),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/garden`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
