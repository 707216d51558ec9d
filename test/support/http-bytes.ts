import { connect, type Socket } from 'node:net';

/* HTTP as bytes, for programs as well as for tests. */

/** Opens a connection. Errors on it, such as a reset, only end it, unless somebody listens for them. */
export function connectTo(url: string, allowHalfOpen = false): Socket {
  const { hostname, port } = new URL(url);
  return connect({ port: Number(port), host: hostname, allowHalfOpen }).on('error', () => {});
}

/** A head as it is sent, with these lines behind the Host. */
export function requestHead(target: string, lines: readonly string[] = []): string {
  return [`${target} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n');
}

export interface RawResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * The responses in all that has come back; 100 Continue is none yet.
 *
 * @param isEnd whether nothing more comes; otherwise one in chunks is none until its last chunk
 */
export function responsesIn(received: Buffer, isEnd = true): RawResponse[] {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return [];
  const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.split(':', 1).join().toLowerCase(), line.replace(/^[^:]*: */, '')]),
  );
  // The response to HEAD has no body, whatever its length.
  const isHead = received.toString('latin1', end + 4).startsWith('HTTP/1.1 ');
  const isChunked = !isHead && headers.has('transfer-encoding');
  const length = isHead ? 0 : Number(headers.get('content-length') ?? 0);
  const after = received.subarray(end + 4);
  if (isChunked && !isEnd && !/(^|\r\n)0\r\n\r\n/.test(after.toString('latin1'))) return [];
  const { body, rest } = isChunked
    ? chunksIn(after)
    : { body: after.subarray(0, length), rest: after.subarray(length) };
  const status = Number(first.split(' ')[1]);
  const others = responsesIn(rest, isEnd);
  return status < 200 ? others : [{ status, headers, body: body.toString() }, ...others];
}

/** A body in chunks (RFC 9112 section 7.1), and what is behind it. One that broke off takes all there is. */
function chunksIn(received: Buffer): { readonly body: Buffer; readonly rest: Buffer } {
  const start = received.indexOf('\r\n') + 2;
  const size = Number.parseInt(received.toString('latin1', 0, start), 16);
  const end = start + size + 2;
  if (!(size > 0)) return { body: Buffer.alloc(0), rest: received.subarray(start + 2) };
  const { body, rest } = chunksIn(received.subarray(end));
  return { body: Buffer.concat([received.subarray(start, end - 2), body]), rest };
}

/**
 * Sends bytes, closes this side once a response has come, or after so many milliseconds, and resolves to all whole responses
 * until the service closes the other one, which may be by a reset while bytes are still coming that it does not want.
 */
export async function responsesTo(url: string, bytes: Buffer, patience: number): Promise<RawResponse[]> {
  const socket = connectTo(url, true);
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    // The service ends a response in chunks as soon as this side is closed.
    if (responsesIn(Buffer.concat(received), false).length > 0) socket.end();
  });
  socket.on('end', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  const timer = setTimeout(() => socket.end(), patience);
  await closed;
  clearTimeout(timer);
  return responsesIn(Buffer.concat(received), false);
}
