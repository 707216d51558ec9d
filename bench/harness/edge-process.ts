import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { TOKEN } from '../../tooling/server-process.ts';
import { type Edge, edges } from '../contenders/edges.ts';

/*
 * A server and its client in one process, which another one tells to run windows: batches of one create on each of some
 * connections. So nothing but their own work decides how long a batch takes, if nothing else has the processor.
 */

/** Batches in a window. */
const BATCHES = 100;

const [edge, ...counts] = process.argv.slice(2) as [Edge, ...string[]];
const url = new URL(await edges[edge]());
let waiting = 0;
let answered = () => {};
const sockets: Socket[] = [];
for (let n = 0; n < Math.max(...counts.map(Number)); n++) {
  const socket = connect(Number(url.port), url.hostname).setNoDelay();
  await once(socket, 'connect');
  socket.on('close', () => process.exit(1));
  socket.on('data', (bytes) => {
    if (!bytes.toString('latin1', 0, 12).endsWith(' 200')) throw new Error(bytes.toString());
    waiting--;
    if (waiting === 0) answered();
  });
  sockets.push(socket);
}

/** Random digits for each, so that the runtime can expect no id. */
const requests = Array.from({ length: 256 }, (_, n) => {
  const body = `{"id":${1 + n}${String(Math.floor(Math.random() * 1e12)).padStart(12, '0')},"name":"Monstera deliciosa ${n}","tag":"houseplant"}`;
  const head = `POST /plants HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json`;
  return Buffer.from(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
});

/** @returns the microseconds that each create of the median batch took */
async function runWindow(connections: number): Promise<number> {
  const times: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const all = new Promise<void>((resolve) => {
      answered = resolve;
    });
    waiting = connections;
    const start = performance.now();
    for (const socket of sockets.slice(0, connections)) {
      socket.write(requests[Math.floor(Math.random() * requests.length)] as Buffer);
    }
    await all;
    times.push(((performance.now() - start) * 1_000) / connections);
  }
  return times.toSorted((a, b) => a - b)[BATCHES / 2] as number;
}

process.on('message', async (connections: number) => process.send?.(await runWindow(connections)));
// A connection that was never used would be closed before its turn.
await runWindow(sockets.length);
process.send?.('ready');
