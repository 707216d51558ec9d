import { readRecord, separators } from '../formats/csv.js';
import { plain, rolesIn } from './column-names.js';
import { asks } from './encodings.js';

/* What the columns of a list are, by their names and by what is in them. */

/** Columns by their numbers, from 0. `name` has several if its parts are in several; `id` and `tag` are -1 if none is. */
/** @typedef {{ id: number, name: number[], tag: number }} Columns */
/** `header` is the row of the names, 0 for none; `head` is its text, `start` is where the records begin, and `row` the first. */
/** @typedef {Columns & { separator: string, names: string[], header: number, head: string, start: number, row: number }} Layout */
/** `columns` as in `id=Nr,name=Genus+Species`; `header` is the row that names them. */
/** @typedef {{ columns?: string | undefined, header?: number | undefined, isNumbered?: boolean, replaces?: boolean }} Said */

const WHOLE = /^(0|-?[1-9]\d{0,18})$/;
/** Rows in which a line of names is looked for, and rows and characters whose content says what a column is. */
const [SEARCHED, LOOKED_AT, HEAD] = [20, 10_000, 2_000_000];

/** @typedef {{ cells: (string | undefined)[], number: number, start: number, end: number }} Row */

/**
 * Finds what the columns are.
 *
 * @param {Said} said
 * @returns {Layout}
 * @throws Error for people, whose cause is the option that says what the list does not show for certain
 */
export function findLayout(/** @type {string} */ text, said = {}) {
  const [line = '', own] = /^"?sep=(.)"?\r?\n/.exec(text) ?? [];
  const tables = (own ? [own] : separators).map((separator) => {
    const rows = rowsOf(text, separator, line.length);
    return { separator, rows, ...headerOf(rows, said) };
  });
  const [table] = tables.sort((a, b) => b.known - a.known || width(b.rows) - width(a.rows));
  const [first] = table?.rows ?? [];
  if (table === undefined || first === undefined) throw new Error('the list is empty');
  const { rows, header, separator } = table;
  const named = (/** @type {string | undefined} */ cell, /** @type {number} */ n) =>
    `${n + 1}: ${(cell ?? '').slice(0, 40)}`;
  const shown = first.cells.slice(0, 20).map(named).join(', ');
  if (said.columns === undefined && table.known === 0)
    throw asks('columns', `No row has known names of columns. The first one has ${shown}.`);
  if (header === undefined) throw asks('header', `Does row ${first.number} name the columns? It has ${shown}.`);
  const top = rows.find(({ number }) => number === header) ?? first;
  const records = rows.filter(({ number }) => number > header);
  const columns = said.columns === undefined ? foundColumns(top, records, said) : saidColumns(said.columns, top);
  if (said.isNumbered ? columns.id >= 0 : columns.id < 0)
    throw asks(
      'ids-from',
      said.isNumbered ? 'A list gets new numbers, or has a column of ids, not both.' : 'No column is the id.',
    );
  if (said.replaces && said.columns === undefined && plain(top.cells[columns.tag]) !== 'tag')
    throw asks('columns', 'Which column is the tag? Without one (tag=), plants that are replaced lose theirs.');
  const names = top.cells.map((name, n) => (header === 0 ? `column ${named(name, n)}` : (name ?? '')));
  const [start, head] = header === 0 ? [line.length, ''] : [top.end, text.slice(top.start, top.end)];
  return { ...columns, separator, names, header, head, start, row: header + 1 };
}

const width = (/** @type {Row[]} */ [first]) => first?.cells.length ?? 0;

/** The first rows of a list, without blank ones. @returns {Row[]} */
function rowsOf(/** @type {string} */ text, /** @type {string} */ separator, /** @type {number} */ start) {
  const rows = [];
  const head = text.slice(0, HEAD);
  for (let at = start, number = 1; at < head.length && rows.length < LOOKED_AT; number++) {
    const { cells, end, problem } = readRecord(head, separator, at);
    if (problem === 'open' || (end === HEAD && end < text.length)) break;
    if (cells.some((cell) => cell?.trim())) rows.push({ cells, number, start: at, end });
    at = end;
  }
  return rows;
}

/** Which row names the columns, 0 for none, and undefined if that is not certain; and how many names are known. */
function headerOf(/** @type {Row[]} */ rows, /** @type {Said} */ { columns = '', header }) {
  const known = rows.slice(0, SEARCHED).map((row) => {
    const { id, name, tag, species } = rolesIn(row);
    return name.length + species.length > 0 ? [id, name, tag, species].filter((found) => found.length > 0).length : 0;
  });
  const said = columns.split(',').flatMap((part) => part.replace(/^.*?=/, '').split('+'));
  const names = said.map((name) => name.trim()).filter((name) => !/^\d*$/.test(name));
  const named = rows.find(({ cells }) => names.every((name) => cells.some((cell) => cell?.trim() === name)));
  const most = names.length > 0 ? (named ? 9 : 0) : Math.max(0, ...known);
  if (header !== undefined) return { header, known: most };
  if (names.length > 0) return { header: named?.number, known: most };
  // With a name alone it may be a title, or a plant.
  if (most > 0) return { header: rows[known.indexOf(most)]?.number, known: most };
  const [first, ...others] = rows.map(({ cells }) => cells.some((cell) => /^[-+\d.,]+$/.test(cell?.trim() ?? '')));
  if (first) return { header: 0, known: 0 };
  return { header: others.includes(true) ? rows[0]?.number : undefined, known: 0 };
}

/** The columns that a person says. @returns {Columns} @throws Error if one is not there */
function saidColumns(/** @type {string} */ said, /** @type {Row} */ { cells }) {
  const roles = {
    id: /** @type {number[]} */ ([]),
    name: /** @type {number[]} */ ([]),
    tag: /** @type {number[]} */ ([]),
  };
  for (const part of said.split(',')) {
    const [, role, names = ''] = /^(id|name|tag)=(.*)$/.exec(part.trim()) ?? [];
    if (!role)
      throw asks('columns', `${part} is no column: write id=, name= or tag= and the names or numbers of columns.`);
    roles[/** @type {keyof typeof roles} */ (role)] = names
      .split('+')
      .filter(Boolean)
      .map((name) => {
        const at = cells.findIndex((cell) => cell?.trim() === name.trim());
        const column = at < 0 && /^\d+$/.test(name) ? Number(name) - 1 : at;
        if (column < 0 || column >= cells.length) throw asks('columns', `No column is called ${name}.`);
        return column;
      });
  }
  if (roles.name.length === 0) throw asks('columns', 'Which column is the name?');
  return { id: roles.id[0] ?? -1, name: roles.name, tag: roles.tag[0] ?? -1 };
}

/** @returns {Columns} @throws Error that asks for what is not certain */
function foundColumns(/** @type {Row} */ top, /** @type {Row[]} */ records, /** @type {Said} */ { isNumbered }) {
  const { id: ids, name: named, tag: tags, genus, species } = rolesIn(top);
  const call = (/** @type {number[]} */ columns) => columns.map((n) => top.cells[n]?.trim()).join(' or ');
  const one = (/** @type {string} */ role, /** @type {number[]} */ columns) => {
    if (columns.length > 1) throw asks('columns', `Which column is the ${role}: ${call(columns)}?`);
    return columns[0] ?? -1;
  };
  const cellsOf = (/** @type {number} */ column) => records.map(({ cells }) => cells[column]?.trim() ?? '');
  const name = named.length > 0 ? [one('name', named)] : nameParts(one('name', genus), one('name', species), cellsOf);
  if (name.length === 0) throw asks('columns', `Which columns are the name: ${call([...genus, ...species])}?`);
  const isDarwinCore = top.cells.some((cell) => /^(dwc:)?(basisOfRecord|occurrenceID)$/i.test(cell?.trim() ?? ''));
  const isTag = (/** @type {number} */ n) => !name.includes(n) && !(isDarwinCore && plain(top.cells[n]) === 'type');
  const tag = one('tag', tags.filter(isTag));
  const wholes = (/** @type {number} */ n) => cellsOf(n).filter((cell) => WHOLE.test(cell));
  const isUnique = (/** @type {number} */ n) => new Set(wholes(n)).size === wholes(n).length;
  const numbers = top.cells.flatMap((_, n) =>
    records.length > 0 && wholes(n).length === records.length && isUnique(n) ? [n] : [],
  );
  const isOurs = plain(top.cells[ids[0] ?? -1]) === 'id';
  if (isNumbered) {
    if (!isOurs && numbers.length === 0) return { id: -1, name, tag };
    throw asks(
      'columns',
      `${call(isOurs ? ids : numbers)} has whole numbers. If they are the ids, leave --ids-from out.`,
    );
  }
  const id = one('id', ids.length > 1 ? ids.filter((n) => numbers.includes(n)) : ids);
  if (id < 0 && numbers.length > 0)
    throw asks('columns', `Is ${call(numbers)} the id? It has whole numbers, each once.`);
  if (id < 0 || (!isOurs && records.length > 0 && wholes(id).length === 0))
    throw asks('ids-from', id < 0 ? 'No column is the id.' : `${call([id])} has no whole numbers.`);
  if (!isOurs && !isUnique(id)) throw asks('columns', `Is ${call([id])} the id? It has some numbers several times.`);
  return { id, name, tag };
}

/** The columns that make a name, of a list that has none for it; none if that is not certain. */
function nameParts(
  /** @type {number} */ genus,
  /** @type {number} */ species,
  /** @type {(column: number) => string[]} */ cellsOf,
) {
  if (species < 0) return [];
  const genera = cellsOf(genus);
  if (genus < 0 || cellsOf(species).every((cell, n) => cell.startsWith(genera[n] ?? ''))) return [species];
  return cellsOf(species).every((cell) => /^(?!\p{Lu})/u.test(cell)) ? [genus, species] : [];
}
