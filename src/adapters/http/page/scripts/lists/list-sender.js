/** @import { ImportResult, ListSender, Reading } from './types.d.ts' */
/** @import { Request } from '../types.d.ts' */

import { listParts, SMALL_PART } from '../../../../../wire/lists/parts.js';
import { isDefinite, send } from '../api.js';
import { bytesOf } from './list-file.js';

/**
 * Sends a list in parts.
 *
 * @param {Pick<Reading, 'list' | 'query' | 'idsFrom'>} reading
 * @param {number} [size] octets of the first one
 * @returns {ListSender}
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
  return { next, progress: () => at / file.size };
}
