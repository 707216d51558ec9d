import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, TOKEN } from '../../tooling/server-process.ts';

/** @returns the response with all plants, which nobody reads yet. @param query such as `?name=rosa` */
export async function openStream({ url }: Server, query = '', type = '*/*', signal?: AbortSignal) {
  const headers = { Authorization: `Bearer ${TOKEN}`, Accept: type };
  const [response] = await once(get(`${url}/plants${query}`, { headers, agent: false, signal }), 'response');
  if (response.statusCode !== 200) throw new Error(`a stream got ${response.statusCode}`);
  return response as IncomingMessage;
}

/** Reads all plants as fast as they come. @returns how many octets that was */
export async function stream(server: Server, query?: string, type?: string, signal?: AbortSignal): Promise<number> {
  const response = await openStream(server, query, type, signal);
  let octets = 0;
  response.on('data', (chunk: Buffer) => {
    octets += chunk.length;
  });
  await once(response, 'end');
  return octets;
}

/** Reads so many octets a second until the signal aborts. */
export async function slowStream(server: Server, rate: number, signal: AbortSignal): Promise<void> {
  const response = await openStream(server);
  while (!signal.aborted) {
    const chunk: Buffer | null = response.read();
    await sleep(chunk === null ? 20 : (chunk.length * 1_000) / rate);
  }
  response.destroy();
}
