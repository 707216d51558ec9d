/** @import { Send } from './types.d.ts' */
import { currentToken } from './token.js';

/** Sends a request until there is a definite response, since all operations may be repeated. @type {Send} */
export async function send(method, path, { body = null, ifMatch, signal, trouble } = {}) {
  const headers = new Headers({ Authorization: `Bearer ${currentToken()}` });
  if (body !== null) headers.set('Content-Type', 'application/json');
  if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
  for (let attempt = 0; ; attempt++) {
    const url = typeof path === 'string' ? path : path(attempt);
    // Longer than the longest wait for changes.
    const ends = AbortSignal.any([AbortSignal.timeout(45_000), ...(signal ? [signal] : [])]);
    const response = await fetch(url, { method, headers, body, signal: ends }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    signal?.throwIfAborted();
    // The others pass: they are of the service, or of a proxy in front of it.
    const isDefinite = response && text !== undefined && ![502, 503, 504].includes(response.status);
    if (isDefinite) trouble?.();
    if (isDefinite && response.ok) return { body: text && parseExactly(text), headers: response.headers };
    const error = response && text ? errorOf(response.status, text) : new Error('No connection to the service.');
    if (isDefinite) throw error;
    trouble?.(`${error.message} Trying again, which is safe.`);
    const pause = Number(response?.headers.get('Retry-After')) * 1_000 || 500 * 2 ** attempt;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, 5_000)));
  }
}

function errorOf(/** @type {number} */ status, /** @type {string} */ text) {
  const { error = status, message = 'not a response of this service' } = text.startsWith('{') ? JSON.parse(text) : {};
  return new Error(`${error}: ${message}.`, { cause: error });
}

/** JSON.parse makes a double of a number, with 53 bits of an id's 64; the text of the number has them all. */
function parseExactly(/** @type {string} */ text) {
  return JSON.parse(text, (key, value, context) => {
    if (context === undefined) throw new Error('This browser rounds ids: use one of 2025 or later.');
    return key === 'id' && context.source ? BigInt(context.source) : value;
  });
}
