/** @import { Request } from '../types.d.ts' */
/** @import { Layout, List } from './types.d.ts' */
import { listSender } from './list-sender.js';

/** Octets of a list that are looked at before anything is stored. */
export const LOOK = 64 * 1024;

const OURS = ['id', 'name', 'tag'];

/**
 * Asks the service which columns a list has. If no line names them, its first line shows what is in them.
 *
 * @param {List} list
 * @param {bigint} firstId of a list without ids
 * @param {Request} request
 * @throws Error in words if it cannot be read
 * @returns {Promise<Layout>}
 */
export async function readLayout(list, firstId, request) {
  if (!list.isCsv) {
    return { columns: list.hasIds ? ['id'] : [''], names: ['id'], separator: ',', header: undefined, guessed: [] };
  }
  const first = { columns: ',name', header: `${list.firstLine}` };
  let problem;
  for (const { idsFrom, query } of [
    { query: {} },
    { idsFrom: firstId, query: {} },
    { idsFrom: firstId, query: first },
  ]) {
    const sender = listSender({ list, query: { check: 'true', ...query }, idsFrom }, LOOK);
    const part = await sender.next(request).catch((/** @type {Error} */ error) => {
      if (error.cause !== 40022) throw error;
      problem ??= error;
    });
    if (part === undefined) continue;
    const { columns = [], names = [], separator = ',', header = 0, guessed = [] } = part;
    if (query !== first) return { columns, names, separator, header, guessed };
    const own = names.map((name) => OURS.find((column) => column === name.trim().toLowerCase()) ?? '');
    return {
      columns: own,
      names,
      separator,
      header: own.some((column) => column !== '') ? header : undefined,
      guessed,
    };
  }
  throw problem ?? new Error('This list is empty.');
}
