import { setTimeout as delay } from 'node:timers/promises';
import type { Static } from 'typebox';
import { MAX_INT64, type NewPlant } from '../domain/plant.ts';
import { say } from '../process/say.ts';
import type { ImportResult } from '../wire/import-schema.ts';
import { SMALL_PART } from '../wire/lists/parts.js';
import type { ErrorBody } from '../wire/schemas.ts';
import type { serviceAddress } from './service-address.ts';

/** Milliseconds for which a part is sent again. */
const PATIENCE = 60_000;

/** In place of a status, if there was no response. */
const NONE = 0;

/** The same as the service's status for a request that took too long. */
const TOO_SLOW = 408;

export type Result = Static<typeof ImportResult>;

/**
 * Sends a part; resolves to undefined if it is too large, also for a slow connection.
 *
 * @throws Error, naming the line in it, if it is refused
 */
type Send = (query: Readonly<Record<string, string>>, part: Uint8Array<ArrayBuffer>) => Promise<Result | undefined>;

export const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

/**
 * Sends parts of a list to the service, and again for a while if that may help.
 *
 * @param type the media type of the list
 * @param stop when it is aborted, no part is sent again
 */
export function partSender({ url, token }: ReturnType<typeof serviceAddress>, type: string, stop: AbortSignal): Send {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };

  async function post(...[query, body]: Parameters<Send>) {
    const signal = AbortSignal.timeout(PATIENCE);
    const target = `${url}/import?${new URLSearchParams(query)}`;
    const response = await fetch(target, { method: 'POST', redirect: 'manual', headers, body, signal });
    return { status: response.status, text: response.headers.get('location') ?? (await response.text()) };
  }

  return async (...part) => {
    for (let start = 0; ; await delay(1_000)) {
      const { status, text } = await post(...part).catch((error) => ({
        status: error.name === 'TimeoutError' ? TOO_SLOW : NONE,
        text: `${error.cause ?? error}`,
      }));
      const said = parse(text);
      if (status === 200 && isResult(said)) return said;
      const { error, message = `${status || ''} ${text.slice(0, 200)}`.trim() } = said;
      if (status === 413 || error === 40013 || (status === TOO_SLOW && part[1].length > SMALL_PART)) return undefined;
      if (status !== NONE && status < 400) throw new Error(`${url} is not a Plant Store: it says ${message}`);
      if (isDefinite(status)) throw new Error(error === undefined ? `${url}: ${message}` : message);
      if (start === 0) say(`${url} cannot be used now (${message}): trying again for a minute`);
      start ||= performance.now();
      if (stop.aborted || performance.now() - start > PATIENCE) throw new Error(`${url}: ${message}. ${RUN_AGAIN}`);
    }
  };
}

/** One above the highest id, or 1. @throws Error if the token may not read, or the service does not respond */
export async function freeId({ url, token }: ReturnType<typeof serviceAddress>): Promise<bigint> {
  for (let target = `${url}/plants?order=desc&limit=1`; ; ) {
    const response = await fetch(target, { headers: { Authorization: `Bearer ${token}` }, redirect: 'manual' });
    const [plant] = (response.ok ? JSON.parse(await response.text(), exactId) : []) as NewPlant[];
    const [, next] = /^<(.*)>/.exec(response.headers.get('Link') ?? '') ?? [];
    if (!response.ok) throw new Error(`the highest id cannot be read (${response.status}): use --number-refused N`);
    if (plant?.id === MAX_INT64)
      throw new Error('no id is above the highest one, which is taken: use --number-refused N');
    if (plant !== undefined || next === undefined) return plant !== undefined && plant.id > 0n ? plant.id + 1n : 1n;
    target = `${new URL(next, target)}`;
  }
}

type ResponseBody = Partial<Result & Static<typeof ErrorBody>>;

/** What the service says; nothing if the text is not JSON, as that of a proxy may be. */
function parse(text: string): ResponseBody {
  try {
    return JSON.parse(text, exactId) ?? {};
  } catch {
    return {};
  }
}

const isResult = (body: ResponseBody): body is Result => body.consumed !== undefined;

/** Whether the same request would get the same response again. */
const isDefinite = (status: number) =>
  status === 501 || (status !== NONE && status < 500 && status !== TOO_SLOW && status !== 429);

/** JSON.parse makes a number of an id, which loses digits. */
function exactId(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'id' && context?.source ? BigInt(context.source) : value;
}
