import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { namedToken } from '../adapters/auth/static-tokens.ts';
import { readConfig } from '../config/config.ts';
import { environment } from '../config/environment.ts';
import { readVariables } from '../config/reader.ts';
import { rules } from '../config/rules.ts';
import { VARIABLES } from '../config/variables.ts';
import { visible } from '../formats/shown.ts';
import { say } from '../runtime/say.ts';

/** Milliseconds for which a request is sent again. */
const PATIENCE = 60_000;
/** In place of a status, if there was no response. */
const NONE = 0;
/** The same as the service's status for a request that took too long. */
const TOO_SLOW = 408;

export const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

/** @throws Error in words */
export type Send = (path: string, expected: RegExp, body?: string) => Promise<string>;

/**
 * Creates what sends requests to the service: GET, or POST of lines of JSON. Each is sent again for a minute if that may help.
 * A text that does not begin as expected is that of something else.
 *
 * @param stop when it is aborted, nothing is sent again
 * @throws Error, saying what to do, if no service is known
 */
export function remoteService(stop: AbortSignal): Send {
  const { url, token, proxy } = serviceAddress();
  const dispatcher = new EnvHttpProxyAgent({ httpProxy: '', ...proxy });
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/x-ndjson, application/json;q=0.9' };

  async function request(path: string, body: string | undefined) {
    const limits = { redirect: 'manual', signal: AbortSignal.timeout(PATIENCE), dispatcher } as const;
    const post = { method: 'POST', body: body ?? '', headers: { ...headers, 'Content-Type': 'application/x-ndjson' } };
    const response = await fetch(url + path, { ...limits, ...(body === undefined ? { headers } : post) });
    return { status: response.status, text: response.headers.get('location') ?? (await response.text()) };
  }

  return async (path, expected, body) => {
    for (let start = 0; ; await delay(1_000)) {
      const { status, text } = await request(path, body).catch((error) => failure(url, error));
      if (status === 200 && expected.test(text)) return text;
      const { error, message = `${status || ''} ${text.slice(0, 200)}`.trim() } = errorIn(text);
      const said = visible(message);
      if (status !== NONE && status < 400) throw new Error(`${url} is not a Plant Store: it says ${said}`);
      if (isDefinite(status)) throw new Error(error === undefined ? `${url}: ${said}` : said);
      if (start === 0) say(`${url} cannot be used now (${said}): trying again for a minute`);
      start ||= performance.now();
      if (stop.aborted || performance.now() - start > PATIENCE) throw new Error(`${url}: ${said}. ${RUN_AGAIN}`);
    }
  };
}

/** @throws Error if the certificate of the service is not trusted: that stays so */
function failure(url: string, error: Error & { readonly cause?: { readonly code?: string } }) {
  const { code = '' } = error.cause ?? {};
  if (!/CERT|SIGNATURE/.test(code))
    return { status: error.name === 'TimeoutError' ? TOO_SLOW : NONE, text: `${error.cause ?? error}` };
  throw new Error(
    `${url}: its certificate is not trusted (${code}). Set NODE_EXTRA_CA_CERTS to a PEM file of its certificate authority`,
  );
}

/** An error of the service; nothing if the text is another, as that of a proxy may be. */
function errorIn(text: string): { readonly error?: number; readonly message?: string } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Whether the same request would get the same response again. */
const isDefinite = (status: number) =>
  status === 501 || (status !== NONE && status < 500 && status !== TOO_SLOW && status !== 429);

const ADDRESS = {
  PLANT_STORE_URL: [rules.httpUrl],
  PLANT_STORE_TOKEN: [rules.bearerToken],
  HTTPS_PROXY: VARIABLES.HTTPS_PROXY,
  NO_PROXY: VARIABLES.NO_PROXY,
} as const;

/** The service of PLANT_STORE_URL, or else that of this folder, whose token goes nowhere else. @throws Error if none is known */
function serviceAddress() {
  const {
    PLANT_STORE_URL: url,
    PLANT_STORE_TOKEN: token,
    HTTPS_PROXY: httpsProxy = '',
    NO_PROXY: noProxy = '',
  } = readVariables(ADDRESS, environment(), (values) => values);
  const proxy = { httpsProxy, noProxy };
  if (url && token) return { url: url.replace(/\/$/, ''), token, proxy };
  const advice = 'set PLANT_STORE_URL and PLANT_STORE_TOKEN';
  if (url || token) throw new Error(`${advice}, or neither of them`);
  const { HOST, PORT, tokens, ownTokenFolder } = readConfig();
  // A container that listens at :: often has no ::1.
  const host = ['0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST;
  const file = ownTokenFolder === undefined ? '' : join(ownTokenFolder, 'access-token');
  const [configured] = tokens.full.map(namedToken);
  const own = configured?.token ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (!own) throw new Error(`no token of this folder may create plants: start the service, or ${advice}`);
  if (PORT === 0) throw new Error(`PORT is 0, so only the service knows where it listens: ${advice}`);
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`, token: own, proxy };
}
