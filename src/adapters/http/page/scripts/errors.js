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

/**
 * What became of a request, in words and then as the service said it.
 *
 * @param status of HTTP, 0 without a response
 * @param body the Error of a response, or anything from a proxy
 * @returns an error whose cause is its number, or the status of a response that is not the service's
 */
export function errorOf(/** @type {number} */ status, /** @type {unknown} */ body) {
  if (status === 0) return new Error('No connection to the service.', { cause: status });
  const { error, message } = /** @type {{ error?: unknown, message?: unknown }} */ (body || {});
  const isOwn = typeof error === 'number' && typeof message === 'string';
  const [number, said] = isOwn ? [error, message] : [status, 'not a response of this service'];
  const otherwise = status >= 400 && status < 500 ? 'The service refuses this' : 'The service is not available';
  return new Error(`${WORDS.get(number) ?? WORDS.get(status) ?? otherwise} (${number}: ${said}).`, { cause: number });
}
