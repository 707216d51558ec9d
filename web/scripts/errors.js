import { setState, write } from './dom.js';

/** Errors in the words of the page's users, by their number or HTTP status; docs/errors.md has them in the words of clients. */
const WORDS = new Map([
  [40009, 'Another plant has this id already: choose a different one'],
  [40010, 'A plant with this id was deleted, and its id cannot be used again: choose a different one'],
  [401, 'This token does not work here'],
  [403, 'Your token does not permit this'],
  [40401, 'There is no plant with this id'],
  [408, 'The connection is too slow for this'],
  [410, 'This plant was deleted'],
  [412, 'Somebody else has changed this plant'],
  [429, 'The service is busy'],
  [500, 'Something in the service has failed'],
  [501, 'This page cannot follow what others do: load it again to see it'],
]);

/** Whether a body is an Error of the service. @returns {body is { error: number, message: string }} */
function isOwn(/** @type {unknown} */ body) {
  const { error, message } = /** @type {{ error?: unknown, message?: unknown }} */ (body || {});
  return typeof error === 'number' && typeof message === 'string';
}

/** Whether a sign-in in front of the service has responded to a request, which follows no redirects: the service has none. */
export const isSignedOut = (/** @type {Response | undefined} */ response, /** @type {unknown} */ body) =>
  response?.type === 'opaqueredirect' || (response?.status === 401 && !isOwn(body));

/**
 * Says what became of a request: in the page's words, or else in those of the service.
 *
 * @param response undefined without one, or one that has broken off
 * @param body the Error of a response, or anything from a proxy
 * @returns an error whose cause is its number, or the status of a response that is not the service's
 */
export function errorOf(/** @type {Response | undefined} */ response, /** @type {unknown} */ body) {
  const status = response?.status ?? 0;
  if (isSignedOut(response, body)) return new Error('Your sign-in has ended.', { cause: status });
  const away = navigator.onLine ? 'No connection to the service.' : 'This device is offline.';
  if (status === 0) return new Error(away, { cause: status });
  const [number, message] = isOwn(body) ? [body.error, body.message] : [status, 'not a response of this service'];
  const words = WORDS.get(number) ?? WORDS.get(status);
  if (words) return new Error(`${words} (${number}).`, { cause: number });
  const otherwise = status >= 400 && status < 500 ? 'The service refuses this' : 'The service is not available';
  return new Error(`${otherwise} (${number}: ${message}).`, { cause: number });
}

/** Says what is wrong, in an element of the page, and takes the buttons away that the token may not use. */
export function failed(/** @type {unknown} */ error, where = 'problem') {
  const { message, cause: number } = /** @type {Error} */ (error);
  write(where, message);
  if (number === 40300) for (const state of ['may-create', 'may-change']) setState(state, false);
}
