import { rolesIn } from './column-names.js';
import { findLayout } from './columns.js';
import { recordsOf } from './records.js';

/* What is proposed to a person who sees the list, where it does not show for certain what its columns are. */

/** @import { Layout } from './columns.js' */
/** `doubt` is what is not certain, in words. @typedef {Layout & { doubt: string }} Proposal */

/** What the columns of CSV are, or what is proposed if that is not certain, and why. @returns {Proposal} */
export function layoutOf(/** @type {string} */ text) {
  const any = { columns: 'name=1', isNumbered: true };
  let doubt = '';
  for (const said of [{}, any, { ...any, header: 0 }]) {
    try {
      const layout = findLayout(text, said);
      return doubt ? proposed(text, layout, doubt) : { ...layout, doubt };
    } catch (error) {
      const { message, cause } = /** @type {Error} */ (error);
      if (cause === undefined) throw error;
      doubt ||= message;
    }
  }
  throw new Error(doubt);
}

/** @param {string} text @param {Layout} layout @param {string} why */
function proposed(text, layout, why) {
  const { names } = layout;
  const { id: ids, name, tag: tags, genus, species } = rolesIn({ cells: names });
  const numbersIn = (/** @type {number} */ n) =>
    [...recordsOf(text, { ...layout, id: n, name: [n] }).take(2_000)].map((record) => record.line && record.name);
  /** Whether a column has whole numbers, each once: then it may be the id. */
  const isNumbering = (/** @type {number} */ n) => {
    const numbers = numbersIn(n);
    return numbers.length > 0 && new Set(numbers).size === numbers.length && !numbers.includes(undefined);
  };
  const id = ids.find(isNumbering) ?? ids.find((n) => numbersIn(n).some(Boolean)) ?? -1;
  const other = ids.length > 0 ? -1 : (names.keys().find(isNumbering) ?? -1);
  const isAsked = other < 0 || why.startsWith('Is ');
  const doubt = isAsked ? why : `${why} Is ${names[other]} the id? It has whole numbers, each once.`;
  const parts = [genus[0], species[0]].flatMap((n) => n ?? []);
  const columns = name.length > 0 ? name.slice(0, 1) : parts;
  const tag = tags.find((n) => !columns.includes(n)) ?? -1;
  return { ...layout, id: Math.max(id, other), name: columns, tag, doubt };
}
