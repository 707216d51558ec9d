import { rowsIn, separators } from '../formats/csv.js';
import { foldName, rolesIn } from './column-names.js';
import { unclear } from './encodings.js';

/* What the columns of a list are, by their names and by what is in them. */

/** @import { Row } from '../formats/csv.js' */
/** The numbers of columns, from 0. Several columns may make up the name; `id` and `tag` are -1 without a column. */
/** @typedef {{ id: number, name: number[], tag: number }} Columns */
/**
 * `header` is the row of the names, 0 for none, and `head` its text; `start` is where the records begin. `doubt` asks for what the
 * list does not show for certain: then the columns are proposals.
 *
 * @typedef {Columns & { separator: string, names: string[], header: number, head: string, start: number, doubt: Error | undefined }} Layout
 */
/** `columns` as in `id=Nr,name=Genus+Species`; `header` is the row that names them, 0 for none. */
/** @typedef {{ columns?: string | undefined, header?: number, isNumbered?: boolean, replaces?: boolean }} ColumnOptions */
/** @typedef {(option: 'columns' | 'ids-from', question: string) => void} Ask */

const INTEGER = /^(0|-?[1-9]\d{0,18})$/;
/** Rows in which a line of names is looked for, and rows and characters whose content says what a column is. */
const [HEADER_ROWS_MAX, ROWS_MAX, CHARACTERS_MAX] = [20, 10_000, 2_000_000];

const cellIn = (/** @type {Row} */ { cells }, /** @type {number} */ column) => cells[column]?.trim() ?? '';
const hasNumber = (/** @type {Row} */ { cells }) => cells.some((cell) => /^[-+\d.,]+$/.test(cell?.trim() ?? ''));

/**
 * Finds what the columns are.
 *
 * @param {string} text
 * @param {ColumnOptions} options what a person says
 * @returns {Layout}
 * @throws Error for people if the list is empty, or has no such columns
 */
export function detectLayout(text, options = {}) {
  const { isNumbered = false, replaces = false } = options;
  const [line = '', explicit] = /^"?sep=(.)"?\r?\n/.exec(text) ?? [];
  const tables = (explicit ? [explicit] : separators).map((separator) => {
    const rows = rowsOf(text, separator, line.length, HEADER_ROWS_MAX);
    return { separator, width: rows[0]?.cells.length ?? 0, ...headerOf(rows, options.columns) };
  });
  const [table] = tables.sort((a, b) => b.score - a.score || b.width - a.width);
  const rows = table ? rowsOf(text, table.separator, line.length, ROWS_MAX) : [];
  const [first, ...rest] = rows;
  if (table === undefined || first === undefined) throw new Error('the list is empty');
  const questions = /** @type {Parameters<Ask>[]} */ ([]);
  const ask = (/** @type {Parameters<Ask>} */ ...question) => void questions.push(question);
  const numberAndText = (/** @type {string | undefined} */ cell, /** @type {number} */ n) =>
    `${n + 1}: ${(cell ?? '').slice(0, 40)}`;
  if (table.score === 0 && options.columns === undefined) {
    const cells = first.cells.slice(0, 20).map(numberAndText).join(', ');
    ask('columns', `No row has known names of columns. The first one has ${cells}.`);
  }
  const isName = options.columns === undefined && !hasNumber(first) && rest.some(hasNumber);
  const header = options.header ?? table.header ?? (isName ? first.row : 0);
  const top = rows.find(({ row }) => row === header) ?? first;
  const records = rows.filter(({ row }) => row > header);
  const names = top.cells.map((cell, n) => (header === 0 ? `column ${numberAndText(cell, n)}` : (cell ?? '').trim()));
  const columns = options.columns ? chosenColumns(options.columns, top) : foundColumns(names, records, isNumbered, ask);
  if (isNumbered && columns.id >= 0) ask('ids-from', 'A list gets new numbers, or has a column of ids, not both.');
  if (!isNumbered && columns.id < 0) ask('ids-from', 'No column is the id.');
  if (replaces && options.columns === undefined && foldName(names[columns.tag]) !== 'tag')
    ask('columns', 'Which column is the tag? Without one (tag=), plants that are replaced lose theirs.');
  const [start, head] = header === 0 ? [line.length, ''] : [top.end, top.raw];
  const [[option] = []] = questions;
  const doubt = option && unclear(option, questions.map(([, question]) => question).join(' '));
  return { ...columns, separator: table.separator, names, header, head, start, doubt };
}

/** The first rows of a list, without blank ones and one that may be cut. @param {string} text @param {string} separator @param {number} start @param {number} rowsMax */
function rowsOf(text, separator, start, rowsMax) {
  const head = text.slice(0, CHARACTERS_MAX);
  const isWhole = (/** @type {Row} */ { end, problem }) => problem !== 'open' && (end < head.length || head === text);
  const rows = rowsIn(head, separator, start).filter((row) => isWhole(row) && row.cells.some((cell) => cell?.trim()));
  return [...rows.take(rowsMax)];
}

/** The row that names the columns, if one does, and how many known names it has. */
function headerOf(/** @type {Row[]} */ rows, list = '') {
  const columns = list.split(',').flatMap((choice) => choice.replace(/^.*?=/, '').split('+'));
  const names = columns.map((name) => name.trim()).filter((name) => !/^\d*$/.test(name));
  const top = rows.find((row) => names.every((name) => row.cells.some((cell) => cell?.trim() === name)));
  if (names.length > 0) return { header: top?.row, score: top ? names.length : 0 };
  const scores = rows.map((row) => {
    const { id, name, tag, species } = rolesIn(row.cells);
    return name.length + species.length > 0 ? [id, name, tag, species].filter(({ length }) => length > 0).length : 0;
  });
  const score = Math.max(0, ...scores);
  return { header: score > 0 ? rows[scores.indexOf(score)]?.row : undefined, score };
}

/** The columns that a person says. @returns {Columns} @throws Error if one is not there */
function chosenColumns(/** @type {string} */ list, /** @type {Row} */ { cells }) {
  const columns = /** @type {Record<string, number[]>} */ ({});
  for (const choice of list.split(',')) {
    const [, role, names = ''] = /^(id|name|tag)=(.*)$/.exec(choice.trim()) ?? [];
    if (!role)
      throw unclear('columns', `${choice} is no column: write id=, name= or tag= and the names or numbers of columns.`);
    columns[role] = names.split('+').flatMap((name) => {
      const text = name.trim();
      const column = /^\d+$/.test(text) ? Number(text) - 1 : cells.findIndex((cell) => cell?.trim() === text);
      if (text !== '' && !(column in cells)) throw unclear('columns', `No column is called ${text}.`);
      return text === '' ? [] : column;
    });
  }
  const { id: [id = -1] = [], name = [], tag: [tag = -1] = [] } = columns;
  if (name.length === 0) throw unclear('columns', 'Which column is the name?');
  return { id, name, tag };
}

/** @param {string[]} names @param {Row[]} records @param {boolean} isNumbered @param {Ask} ask @returns {Columns} */
function foundColumns(names, records, isNumbered, ask) {
  const { id: ids, name: whole, tag: tags, genus, species } = rolesIn(names);
  const textOf = (/** @type {number[]} */ columns) => columns.map((n) => names[n]).join(' or ');
  const choose = (/** @type {string} */ role, /** @type {number[]} */ columns) => {
    if (columns.length > 1) ask('columns', `Which column is the ${role}: ${textOf(columns)}?`);
    return columns.slice(0, 1);
  };
  let name = choose('name', whole);
  if (name.length === 0) {
    const [[genusAt = -1], [speciesAt = -1]] = [choose('name', genus), choose('name', species)];
    const isWhole = (/** @type {Row} */ row) => cellIn(row, speciesAt).startsWith(cellIn(row, genusAt));
    const isEpithet = (/** @type {Row} */ row) => /^(?!\p{Lu})/u.test(cellIn(row, speciesAt));
    name = [records.every(isWhole) ? -1 : genusAt, speciesAt].filter((n) => n >= 0);
    if (name.length !== 1 && !(name.length === 2 && records.every(isEpithet)))
      ask('columns', `Which columns are the name${name.length > 0 ? `: ${textOf(name)}` : ''}?`);
  }
  const isDarwinCore = names.some((name) => /^(dwc:)?(basisOfRecord|occurrenceID)$/i.test(name));
  const isTag = (/** @type {number} */ n) => !name.includes(n) && !(isDarwinCore && foldName(names[n]) === 'type');
  const [tag = -1] = choose('tag', tags.filter(isTag));
  const integersIn = (/** @type {number} */ n) =>
    records.map((row) => cellIn(row, n)).filter((cell) => INTEGER.test(cell));
  const isUnique = (/** @type {number} */ n) => new Set(integersIn(n)).size === integersIn(n).length;
  const candidates = records.length > 0 ? [...names.keys()] : [];
  const numbers = candidates.filter((n) => integersIn(n).length === records.length && isUnique(n));
  const isCalledId = foldName(names[ids[0] ?? -1]) === 'id';
  if (isNumbered) {
    const columns = isCalledId ? ids : numbers;
    if (columns.length > 0)
      ask('columns', `${textOf(columns)} has whole numbers. If they are the ids, leave --ids-from out.`);
    return { id: -1, name, tag };
  }
  const [id = -1] = choose('id', ids.length > 1 ? ids.filter((n) => numbers.includes(n)) : ids);
  if (id < 0 && numbers[0] !== undefined) {
    ask('columns', `Is ${textOf(numbers)} the id? It has whole numbers, each once.`);
    return { id: numbers[0], name, tag };
  }
  if (id < 0 || isCalledId) return { id, name, tag };
  if (!isUnique(id)) ask('columns', `Is ${textOf([id])} the id? It has some numbers several times.`);
  if (records.length === 0 || integersIn(id).length > 0) return { id, name, tag };
  ask('ids-from', `${textOf([id])} has no whole numbers.`);
  return { id: -1, name, tag };
}
