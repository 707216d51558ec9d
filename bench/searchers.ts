import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, TOKEN } from '../tooling/server-process.ts';

/* Clients that search the names, page by page. */

/** In no name of plants.txt. */
export const NOWHERE = 'nowhere';

interface Page {
  readonly status: number;
  /** Until it had come in full. */
  readonly ms: number;
  readonly plants: number;
  /** The URL of the next page. */
  readonly next: string | undefined;
  /** Seconds. */
  readonly retryAfter: number;
}

export function firstPage({ url }: Server, name: string): string {
  return `${url}/plants?${new URLSearchParams({ limit: '100', name })}`;
}

export async function searchPage(url: string, signal: AbortSignal): Promise<Page> {
  const start = performance.now();
  const response = await fetch(url, { headers: { Authorization: `Bearer ${TOKEN}` }, signal });
  const body: unknown = await response.json();
  const [, link] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  return {
    status: response.status,
    ms: performance.now() - start,
    plants: Array.isArray(body) ? body.length : 0,
    next: link === undefined ? undefined : new URL(link, url).href,
    retryAfter: Number(response.headers.get('retry-after') ?? 1),
  };
}

/**
 * All pages of a search for what is nowhere.
 *
 * @returns the milliseconds that each took
 * @throws Error if a page is refused or finds a plant
 */
export async function walk(server: Server, signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  for (let url: string | undefined = firstPage(server, NOWHERE); url !== undefined; ) {
    const { status, ms, plants, next }: Page = await searchPage(url, signal);
    if (status !== 200 || plants > 0) throw new Error(`a page of the search got ${status} and ${plants} plants`);
    times.push(ms);
    url = next;
  }
  return times;
}

/**
 * Does something while so many clients search for what is nowhere, each again and again. One that is refused waits for
 * as long as the response says.
 *
 * @returns what came of it, and how many responses of each status the clients got
 */
export async function besideSearches<T>(server: Server, clients: number, work: () => Promise<T>) {
  const stop = new AbortController();
  const statuses = new Map<number, number>();

  async function search(): Promise<void> {
    const first = firstPage(server, NOWHERE);
    for (let url = first; ; ) {
      const { status, next, retryAfter } = await searchPage(url, stop.signal);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) url = next ?? first;
      else await sleep(retryAfter * 1_000, undefined, { signal: stop.signal });
    }
  }

  const searching = Promise.all(Array.from({ length: clients }, search));
  const stopped = searching.catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  try {
    // The searches go on until they are stopped: they come first only by failing.
    const result = (await Promise.race([work(), searching])) as T;
    return { result, statuses };
  } finally {
    stop.abort();
    await stopped;
  }
}
