import { setTimeout as sleep } from 'node:timers/promises';
import { type Server, TOKEN } from '../../tooling/server-process.ts';

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
  const response = await fetch(url, { headers: { Authorization: `Bearer ${TOKEN}` }, signal });
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
