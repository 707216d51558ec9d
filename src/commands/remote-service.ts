import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Static } from 'typebox';
import { namedToken } from '../adapters/tokens/static-tokens.ts';
import { readConfig } from '../config/config.ts';
import { environment } from '../config/environment.ts';
import { checked } from '../config/reader.ts';
import { rules } from '../config/rules.ts';
import { say } from '../process/say.ts';
import type { ImportResult } from '../wire/import-schema.ts';
import { type SentPart, SMALL_PART } from '../wire/lists/parts.js';
import type { ErrorBody } from '../wire/schemas.ts';

/** Milliseconds for which a part is sent again. */
const PATIENCE = 60_000;

/** In place of a status, if there was no response. */
const NONE = 0;

/** The same as the service's status for a request that took too long. */
const TOO_SLOW = 408;

type Result = Static<typeof ImportResult>;

/** A part of a list, and what became of it. */
export type Part = SentPart<Result>;

/**
 * Sends a part; resolves to undefined if it is too large, also for a slow connection.
 *
 * @throws Error, naming the line in it, if it is refused
 */
type Send = (query: Readonly<Record<string, string>>, part: Uint8Array<ArrayBuffer>) => Promise<Result | undefined>;

export const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

/**
 * Creates what sends the parts of lists to the service.
 *
 * @param type the media type of the list
 * @param stop when it is aborted, no part is sent again
 * @throws Error, saying what to do, if none is known
 */
export function remoteService(type: string, stop: AbortSignal): Send {
  const { url, token } = serviceAddress();
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };

  async function post(...[query, body]: Parameters<Send>) {
    const signal = AbortSignal.timeout(PATIENCE);
    const target = `${url}/import?${new URLSearchParams(query)}`;
    const response = await fetch(target, { method: 'POST', redirect: 'manual', headers, body, signal });
    return { status: response.status, text: response.headers.get('location') ?? (await response.text()) };
  }

  // Again for a while if that may help.
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

const ADDRESS = {
  url: { name: 'PLANT_STORE_URL', rule: rules.httpUrl, fallback: undefined },
  token: { name: 'PLANT_STORE_TOKEN', rule: rules.bearerToken, fallback: undefined },
};

/** The service of PLANT_STORE_URL, or else that of this folder, whose token goes nowhere else. @throws Error if none is known */
function serviceAddress(): { readonly url: string; readonly token: string } {
  const { url, token } = checked(environment(), ({ read }) => read(ADDRESS));
  if (url && token) return { url: url.replace(/\/$/, ''), token };
  const advice = 'set PLANT_STORE_URL and PLANT_STORE_TOKEN';
  if (url || token) throw new Error(`${advice}, or neither of them`);
  const { api, tokens, ownTokenFolder } = readConfig();
  // A container that listens at :: often has no ::1.
  const host = ['0.0.0.0', '::'].includes(api.host) ? '127.0.0.1' : api.host;
  const file = ownTokenFolder === undefined ? '' : join(ownTokenFolder, 'access-token');
  const [configured] = tokens.full.map(namedToken);
  const own = configured?.token ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (!own) throw new Error(`this folder has no token that may create: start the service, or ${advice}`);
  if (api.port === 0) throw new Error(`PORT is 0, so only the service knows where it listens: ${advice}`);
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${api.port}`, token: own };
}
