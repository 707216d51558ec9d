/** @import { Request } from '../types.d.ts' */
/** @import { ImportResult, Reading } from './types.d.ts' */
import { listParts, SMALL_PART } from '../../../src/wire/lists/parts.js';
import { isDefinite, send } from '../api.js';
import { bytesOf } from './list-file.js';

/**
 * Sends a list in parts: `next` the next one; after a failure, the same one again, which is safe. Undefined at the end.
 *
 * @throws Error from `next` as `send` does, with the line in the list; if it cannot be read; at a record that is too large
 * @param {Pick<Reading, 'list' | 'query' | 'idsFrom'>} reading
 * @param {number} [size] octets of the first one
 */
export function listSender({ list, query, idsFrom }, size) {
  const { file, isCsv, encoding } = list;
  let at = 0;

  async function post(
    /** @type {Record<string, string>} */ all,
    /** @type {Uint8Array<ArrayBuffer>} */ body,
    /** @type {Request} */ request,
  ) {
    const isTooSlow = (/** @type {number} */ status) => status === 408 && body.length > SMALL_PART;
    const ends = (/** @type {number} */ status) => isDefinite(status) || isTooSlow(status);
    const type = isCsv ? 'text/csv' : 'application/x-ndjson';
    const how = { ...request, body, type, has: 'consumed', ends };
    const response = await send('POST', `import?${new URLSearchParams(all)}`, how).catch(
      (/** @type {Error} */ error) => {
        if (![413, 40013, 408, 40800, 0].includes(Number(error.cause))) throw error;
      },
    );
    return /** @type {ImportResult | undefined} */ (response?.body);
  }

  const source = {
    async peek(/** @type {number} */ length) {
      const bytes = await bytesOf(file, at, length);
      return { bytes, isEnd: at + bytes.length >= file.size };
    },
    skip: (/** @type {number} */ length) => {
      at += length;
    },
  };
  const all = { ...query, ...(idsFrom !== undefined && { idsFrom: `${idsFrom}` }) };
  const next = listParts(source, { isCsv, encoding, query: all }, post, size);
  /** What is done, from 0 to 1. */
  return { next, progress: () => at / file.size };
}
