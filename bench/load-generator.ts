import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/*
 * The load where wrk is not installed, as a process of its own. Arguments: the address, connections, seconds, the file of
 * plants, the token, the request, how many plants are stored (see Load in load.ts). Raw sockets, since an
 * HTTP client would cost more than the servers that it measures. Prints the same line of JSON as wrk.lua.
 */

const [address = '', connections = '', seconds = '', plantsFile = '', token = '', request = '', stored] =
  process.argv.slice(2);
const { hostname, port } = new URL(address);
const [method = '', path = ''] = request.split(' ');
const plants = readFileSync(plantsFile, 'utf8').trimEnd().split('\n');
const head = ` HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n`;

/** As in wrk.lua, which says why. */
const OPENING_SECONDS = 0.5;

const latency = createHistogram();
let answers = 0;
let failures = 0;
let stopped = false;

const opened = sleep(OPENING_SECONDS * 1000);
const start = performance.now();
for (let count = Number(connections); count > 0; count--) open();
setTimeout(() => {
  stopped = true;
  const took = (performance.now() - start) / 1000 - OPENING_SECONDS;
  const [p50, p99] = [50, 99].map((percent) => latency.percentile(percent) / 1e3);
  process.stdout.write(`${JSON.stringify({ answers, failures, seconds: took, p50, p99 })}\n`, () => process.exit());
}, Number(seconds) * 1000);

/** Keeps one connection busy, and opens another one when the server closes it. */
function open(): void {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let received = '';
  let sent = 0;
  const send = () => {
    socket.write(nextRequest());
    sent = performance.now();
  };
  socket.setEncoding('latin1');
  socket.on('connect', () => opened.then(send));
  socket.on('data', (chunk) => {
    received += chunk;
    const status = answeredStatus(received);
    if (status === undefined || stopped) return;
    received = '';
    latency.record(Math.max(1, Math.round((performance.now() - sent) * 1000)));
    if (status === '200' || status === '204') answers++;
    else failures++;
    send();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    failures++;
    setTimeout(open, 10);
  });
}

/** The status of an answer that has come in full; every contender sends a Content-Length, unless there is no body. */
function answeredStatus(received: string): string | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0);
  return received.length >= headEnd + 4 + length ? received.slice(9, 12) : undefined;
}

function nextRequest(): string {
  const start = `${method} ${path.replace(/\{(\w+)\}/g, (_, name) => `${value(name)}`)}${head}`;
  if (method === 'GET' || method === 'DELETE') return `${start}\r\n`;
  const plant = plants[Math.floor(Math.random() * plants.length)] ?? '';
  const body = method === 'POST' ? `{"id":${randomId()},${plant}}` : `{${plant}}`;
  return `${start}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

let last = 0;

function value(name: string): number {
  if (name === 'id') return 1 + Math.floor(Math.random() * Number(stored));
  if (name === 'tag') return Math.floor(Math.random() * 100);
  return ++last;
}

/** Drawn by the thousand: a call of the generator for each would cost more than the rest of the request. */
const ids = new BigInt64Array(8_192);
let used = ids.length;

function randomId(): bigint {
  if (used === ids.length) {
    crypto.getRandomValues(ids);
    used = 0;
  }
  return ids[used++] ?? 0n;
}
