/** What is said of a text that is no id. */
export const NOT_AN_ID = `An id is a whole number from ${-(2n ** 63n)} to ${2n ** 63n - 1n}.`;

/** The number itself if it is an int64. */
export const asId = (/** @type {bigint} */ number) => (BigInt.asIntN(64, number) === number ? number : undefined);

/** The id of a text in decimal digits, which may have spaces around it, as pasted ones do; undefined for any other. */
export function idOf(/** @type {string} */ text) {
  const digits = text.trim();
  return /^-?0*\d{1,19}$/.test(digits) ? asId(BigInt(digits)) : undefined;
}
