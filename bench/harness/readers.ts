import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, TOKEN } from '../../tooling/server-process.ts';

/* Clients that read: streams, searches, and followers of /changes. */

const Authorization = `Bearer ${TOKEN}`;

/** @returns the response, which nobody reads yet; not by fetch, which would take more of the machine than the service */
async function opened(url: string, { headers, ...options }: RequestOptions): Promise<IncomingMessage> {
  const [response] = await once(get(url, { headers: { Authorization, ...headers }, ...options }), 'response');
  if (response.statusCode !== 200) throw new Error(`${url} got ${response.statusCode}`);
  return response;
}

/** @returns the response with all plants, which nobody reads yet. @param query such as `?name=rosa` */
export function openStream({ url }: Server, query = '', Accept = '*/*', signal?: AbortSignal) {
  return opened(`${url}/plants${query}`, { headers: { Accept }, agent: false, signal });
}

/** Reads all plants as fast as they come. */
export async function stream(...which: Parameters<typeof openStream>): Promise<void> {
  const response = await openStream(...which);
  await once(response.resume(), 'end');
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

/** In no name of plants.txt. */
export const NOWHERE = 'nowhere';

export interface Page {
  readonly status: number;
  /** Until it had come in full. */
  readonly ms: number;
  readonly plants: number;
  /** The URL of the next page. */
  readonly next: string | undefined;
}

export function firstPage({ url }: Server, name: string): string {
  return `${url}/plants?${new URLSearchParams({ limit: '100', name })}`;
}

export async function searchPage(url: string, signal: AbortSignal): Promise<Page> {
  const start = performance.now();
  const response = await fetch(url, { headers: { Authorization }, signal });
  const body: unknown = await response.json();
  const [, link] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return {
    status: response.status,
    ms: performance.now() - start,
    plants: Array.isArray(body) ? body.length : 0,
    next: link === undefined ? undefined : new URL(link, url).href,
  };
}

/** Searches for what is nowhere, page by page and again and again, a second after one that was refused. */
export async function searchOn(server: Server, signal: AbortSignal): Promise<never> {
  const first = firstPage(server, NOWHERE);
  for (let url = first; ; ) {
    const { status, next } = await searchPage(url, signal);
    if (status === 200) url = next ?? first;
    else if (status === 503) await sleep(1_000, undefined, { signal });
    else throw new Error(`a search got ${status}`);
  }
}

/** One that follows /changes, as a consumer does. */
export interface Follower {
  /** Resolves to the time of its next change, as performance.now() counts. */
  changed(): Promise<number>;
  /** Resolves after the signal has aborted. @throws Error if it could not go on */
  readonly ended: Promise<void>;
}

/** Starts to follow from the position on, until the signal aborts. */
export function follow(url: string, after: string, signal: AbortSignal): Follower {
  const agent = new Agent({ keepAlive: true });
  let change = Promise.withResolvers<number>();
  async function run(): Promise<void> {
    for (let next = after; !signal.aborted; ) {
      const page = await changesAfter(next, { url, wait: 30, agent, signal });
      next = page.next;
      if (page.changes === 0) continue;
      change.resolve(performance.now());
      change = Promise.withResolvers();
    }
  }
  const ended = run()
    .catch((error) => {
      if (!signal.aborted) throw error;
    })
    .finally(() => agent.destroy());
  return { changed: () => change.promise, ended };
}

/** The position behind all changes that there are. */
export async function endOf(url: string, signal: AbortSignal): Promise<string> {
  for (let next = ''; ; ) {
    const page = await changesAfter(next, { url, wait: 0, agent: false, signal });
    next = page.next;
    if (page.atEnd) return next;
  }
}

/** Not by JSON.parse, either. */
async function changesAfter(
  after: string,
  { url, wait, ...options }: { url: string; wait: number } & Pick<RequestOptions, 'agent' | 'signal'>,
) {
  const response = await opened(`${url}/changes?limit=1000&wait=${wait}${after && `&after=${after}`}`, options);
  const body = await text(response);
  const [, next = '', atEnd] = /"next":"([\w-]+)","atEnd":(\w+)/.exec(body) ?? [];
  return { changes: body.split('{"id":').length - 1, next, atEnd: atEnd === 'true' };
}
