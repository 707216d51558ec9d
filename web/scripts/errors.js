/** Errors in the words of the page's users, by their number or HTTP status; docs/errors.md has them in the words of clients. */
const WORDS = new Map([
  [40009, 'Another plant has this id'],
  [40010, 'This was the id of a plant that was deleted, and no other can have it'],
  [40013, 'This is more text than the service takes'],
  [401, 'The service does not accept this token'],
  [403, 'Your token does not permit this'],
  [40401, 'There is no plant with this id'],
  [408, 'The service got this too slowly'],
  [410, 'This plant was deleted'],
  [412, 'Somebody else has changed this plant'],
  [429, 'The service has too much to do'],
  [500, 'The service has failed'],
  [501, 'Changes of others appear when you load this page again'],
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
 * What became of a request, in words and then as the service said it.
 *
 * @param response undefined without one, or one that has broken off
 * @param body the Error of a response, or anything from a proxy
 * @returns an error whose cause is its number, or the status of a response that is not the service's
 */
export function errorOf(/** @type {Response | undefined} */ response, /** @type {unknown} */ body) {
  const status = response?.status ?? 0;
  if (isSignedOut(response, body)) return new Error('A sign-in in front of the service has ended.', { cause: status });
  const away = navigator.onLine ? 'No connection to the service.' : 'This device is offline.';
  if (status === 0) return new Error(away, { cause: status });
  const [number, said] = isOwn(body) ? [body.error, body.message] : [status, 'not a response of this service'];
  const otherwise = status >= 400 && status < 500 ? 'The service refuses this' : 'The service is not available';
  return new Error(`${WORDS.get(number) ?? WORDS.get(status) ?? otherwise} (${number}: ${said}).`, { cause: number });
}
