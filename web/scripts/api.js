import { parseExactly } from '../../src/lists/records.js';
import { askIn, byId, onClick } from './dom.js';
import { errorOf, isSignedOut } from './errors.js';
import { currentToken, signIn } from './token.js';

/** @typedef {{ id: bigint, name: string, tag?: string | undefined }} Plant */
/** @typedef {Plant | { id: bigint, deleted: true }} Change */
/**
 * `type` is the media type of a body that is not JSON. A response must have the member `has`, `name` by default, since that
 * of a proxy may be JSON, too. `trouble` gets in words what keeps a response away, and undefined once there is one. `ends`
 * says whether a response ends the attempts, by its status and the number of its error; a 401 never does.
 *
 * @typedef {{ body?: string | null, type?: string, ifMatch?: string | undefined, signal?: AbortSignal, has?: string,
 *   trouble?(problem?: string): void, ends?(status: number, number: number): boolean }} Request
 */

/** Milliseconds for a response. A batch of a list takes long on a slow connection. */
const RESPONSE_MS_MAX = 45_000;

/** Whether a response is final. Other error statuses are temporary, of the service or of a proxy in front of it. */
export const isDefinite = (/** @type {number} */ status) =>
  status >= 400 && ![408, 429].includes(status) && (status < 500 || status === 501);

/** The id after which a list goes on, as its `Link` says; undefined at its end. */
export function nextAfter(/** @type {Headers} */ headers) {
  const [, id] = /[?&]after=(-?\d+)/.exec(headers.get('Link') ?? '') ?? [];
  return id === undefined ? undefined : BigInt(id);
}

/** Offers to sign in again in front of the service. */
const signedOut = byId('signed-out', HTMLDialogElement);
onClick('reload', () => location.reload());

/**
 * Sends a request until there is a definite response, since all operations may be repeated.
 *
 * @param {'GET' | 'POST' | 'PUT' | 'DELETE'} method
 * @param {string | ((attempt: number) => string)} path relative to the page, which a proxy may serve under a prefix
 * @param {Request} request
 * @throws Error in words, with its number as the cause; the reason of the signal
 */
export async function send(method, path, request = {}) {
  const { body = null, type = 'application/json', ifMatch, signal, trouble, has = 'name', ends = isDefinite } = request;
  if (!('rawJSON' in JSON)) throw new Error('This browser would round long ids. Use one of 2025 or later.');
  for (let attempt = 0; ; attempt++) {
    if (currentToken() === '') await signIn('');
    const token = currentToken();
    const headers = new Headers({ Authorization: `Bearer ${token}` });
    if (body !== null) headers.set('Content-Type', type);
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
    const url = typeof path === 'string' ? path : path(attempt);
    const limit = AbortSignal.any([AbortSignal.timeout(RESPONSE_MS_MAX), ...(signal ? [signal] : [])]);
    // A deletion that has waited for an undo is sent as the page is left.
    const keepalive = method === 'DELETE';
    const how = /** @type {const} */ ({ method, headers, body, signal: limit, redirect: 'manual', keepalive });
    const response = await fetch(url, how).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    signal?.throwIfAborted();
    const result = text && jsonIn(text);
    if (method === 'DELETE' ? response?.status === 204 : response?.ok && has in Object(result)) {
      trouble?.();
      return { body: result, headers: response?.headers ?? new Headers() };
    }
    const whole = text === undefined ? undefined : response;
    const status = whole?.status ?? 0;
    const error = errorOf(whole, result);
    const hasEnded = isSignedOut(whole, result);
    if (hasEnded || status === 401) {
      if (hasEnded) trouble?.(error.message);
      await (hasEnded ? askIn(signedOut) : signIn(token, error.message));
      attempt = -1;
      continue;
    }
    if (ends(status, Number(error.cause))) {
      trouble?.();
      throw error;
    }
    trouble?.(`${error.message} Trying again …`);
    const pause = Number(response?.headers.get('Retry-After')) * 1_000 || 500 * 2 ** attempt;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, 5_000)));
  }
}

/** The value of a JSON text, whose ids keep all their digits; undefined for what is no JSON. */
function jsonIn(/** @type {string} */ text) {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}
