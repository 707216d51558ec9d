import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { EnvHttpProxyAgent, request } from 'undici';
import { readConfig } from '../config/config.ts';
import { environment } from '../config/environment.ts';
import { readVariables } from '../config/reader.ts';
import { rules } from '../config/rules.ts';
import { VARIABLES } from '../config/variables.ts';
import { visible } from '../formats/shown.ts';
import { say } from '../runtime/say.ts';

/** Milliseconds that a request may take, and for which it is sent again. */
const ATTEMPT_MS_MAX = 60_000;

/** The most stored plants whose names are compared with those of a list. */
const NAMES_MAX = 200_000;

export const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

/** @param body lines of JSON, for POST @throws Error in words */
export type Send = (path: string, body?: string) => Promise<string>;

const ADDRESS = {
  PLANT_STORE_URL: [rules.httpUrl],
  PLANT_STORE_TOKEN: [rules.bearerToken],
  HTTPS_PROXY: VARIABLES.HTTPS_PROXY,
  NO_PROXY: VARIABLES.NO_PROXY,
} as const;
const ADVICE = 'set PLANT_STORE_URL and PLANT_STORE_TOKEN';

/**
 * Creates what sends requests to the service of PLANT_STORE_URL, or else to that of this folder, whose token goes nowhere else.
 * Each is sent again for a minute if that may help.
 *
 * @param stop when it is aborted, nothing is sent again
 * @throws Error, saying what to do, if no service is known
 */
export function remoteService(stop: AbortSignal): Send {
  const variables = readVariables(ADDRESS, environment(), (values) => values);
  const { PLANT_STORE_URL, PLANT_STORE_TOKEN, HTTPS_PROXY: httpsProxy = '', NO_PROXY: noProxy = '' } = variables;
  if (!PLANT_STORE_URL !== !PLANT_STORE_TOKEN) throw new Error(`${ADVICE}, or neither of them`);
  const { url, token } =
    PLANT_STORE_URL && PLANT_STORE_TOKEN
      ? { url: PLANT_STORE_URL.replace(/\/$/, ''), token: PLANT_STORE_TOKEN }
      : ownService();
  const types = { 'Content-Type': 'application/x-ndjson', Accept: 'application/x-ndjson, application/json;q=0.9' };
  const headers = { Authorization: `Bearer ${token}`, ...types };
  const dispatcher = new EnvHttpProxyAgent({ httpProxy: '', httpsProxy, noProxy });

  /** `isOurs` says that the response is JSON, unlike those of proxies. */
  async function sendOnce(path: string, body: string | undefined) {
    const method = body === undefined ? 'GET' : 'POST';
    const signal = AbortSignal.timeout(ATTEMPT_MS_MAX);
    const response = await request(url + path, { dispatcher, method, headers, body: body ?? null, signal });
    const { statusCode: status, headers: responseHeaders } = response;
    const isOurs = /^application\/(json|x-ndjson)/.test(`${responseHeaders['content-type']}`);
    const text = await response.body.text();
    if (status === 200 && isOurs) return { status, isOurs, text };
    const reason = isOurs ? JSON.parse(text).message : `${status} ${responseHeaders.location ?? text.slice(0, 200)}`;
    return { status, isOurs, text: visible(`${reason}`.trim()) };
  }

  return async (path, body) => {
    for (let start = 0; ; await delay(1_000)) {
      const { status, isOurs, text } = await sendOnce(path, body).catch((error) => failure(url, error));
      if (status === 200 && isOurs) return text;
      const isPassing = status === 0 || status === 408 || status === 429 || (status >= 500 && status !== 501);
      if (!isPassing && isOurs) throw new Error(text);
      if (!isPassing)
        throw new Error(status < 400 ? `${url} is not a Plant Store: it says ${text}` : `${url}: ${text}`);
      if (start === 0) say(`${url} cannot be used now (${text}): trying again for a minute`);
      start ||= performance.now();
      if (stop.aborted || performance.now() - start > ATTEMPT_MS_MAX) throw new Error(`${url}: ${text}. ${RUN_AGAIN}`);
    }
  };
}

/** The names of all plants. @throws Error if they are too many to compare those of a list with them */
export async function namesOfPlants(send: Send): Promise<string[]> {
  const lines = (await send(`/plants?limit=${NAMES_MAX + 1}`)).split('\n');
  if (lines.length > NAMES_MAX + 1)
    throw new Error(`there are more than ${NAMES_MAX} plants, too many to compare names with: add --same-name add`);
  return lines.filter(Boolean).map((line) => JSON.parse(line).name);
}

/** Stands for the response to a failed request. @throws Error if the certificate is not trusted: a retry would not help */
function failure(url: string, error: Error & { readonly code?: string }) {
  if (!/CERT|SIGNATURE/.test(error.code ?? '')) return { status: 0, isOurs: false, text: visible(`${error}`) };
  const advice = 'Set NODE_EXTRA_CA_CERTS to a PEM file of its certificate authority';
  throw new Error(`${url}: its certificate is not trusted (${error.code}). ${advice}`);
}

/** The service of this folder's configuration. @throws Error if nobody knows where it listens, or its token */
function ownService() {
  const { HOST, PORT, readTokens, ownTokenFile: file = '' } = readConfig();
  // A container that listens at :: often has no ::1.
  const host = ['0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST;
  const [configuredToken] = readTokens().full;
  const token = configuredToken?.token ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (!token) throw new Error(`no token of this folder may create plants: start the service, or ${ADVICE}`);
  if (PORT === 0) throw new Error(`PORT is 0, so only the service knows where it listens: ${ADVICE}`);
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`, token };
}
