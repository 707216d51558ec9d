import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Where Linux takes none from for those who ask for any port (net.ipv4.ip_local_port_range): it would give one that is not
 * in use yet, or not at the moment, to somebody else.
 */
const RANGE = { from: 10_000, to: 32_768 };

/** A port of the loopback interface that nobody uses, for a server that has to come back to its own. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(RANGE.from, RANGE.to);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
