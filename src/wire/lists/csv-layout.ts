import { PlantStoreError } from '../../domain/errors.ts';
import { bounded, shown } from '../shown.ts';
import { cellsOf, type Separator, separators } from './csv-cells.ts';
import type { Line } from './lines.ts';

export const columnNames = ['id', 'name', 'tag'] as const;

type ColumnName = (typeof columnNames)[number];

/** What a column of a list means; empty if nothing. */
export type Column = ColumnName | '';

export interface CsvLayout {
  readonly columns: readonly Column[];
  readonly separator: Separator;
}

/** A column that is one of ours by a name of its own, bounded. */
interface Guess {
  readonly column: ColumnName;
  readonly name: string;
}

/** What a line of names says. */
interface NamedLayout extends CsvLayout {
  /** Its physical line, from 1. */
  readonly header: number;
  readonly names: readonly string[];
  readonly guessed: Guess[];
}

/** Enough for any spreadsheet, and few enough to send back. */
export const MAX_COLUMNS = 1_000;

/** Among so many lines that are not blank, one must name the columns: lists may begin with titles. */
const SEARCHED = 20;

/** Names of columns in other lists, the likelier first. */
const GUESSES: Readonly<Record<ColumnName, readonly string[]>> = {
  id: ['nr', 'no', 'nummer', 'number', 'key', 'taxonid', 'artikelnummer'],
  name: ['plant', 'pflanze', 'botanischer name', 'scientificname', 'species', 'title'],
  tag: ['type', 'category', 'kategorie', 'gattung', 'genus', 'family'],
};

interface LayoutOptions {
  /** What the columns are, and what separates them, if the client says so. */
  readonly columns?: readonly Column[] | undefined;
  readonly separator?: Separator | undefined;
  /** The physical line that names the columns, if the client says so. */
  readonly header?: number | undefined;
  readonly isNumbered: boolean;
  readonly replaces: boolean;
  readonly continued: boolean;
}

/**
 * Creates the function that reads the lines of a list until one names the columns. That one also shows the separator.
 *
 * @returns a function that returns undefined if the line does not; it throws PlantStoreError `malformed_json` or
 * `invalid_plant`, naming the line, if that must do, or was the last one that is searched
 */
export function layoutFinder(options: LayoutOptions) {
  let searched = 0;
  let best: Attempt | undefined;

  function find(line: Line): NamedLayout | undefined {
    if (options.header !== undefined && line.number < options.header) return undefined;
    const attempts = (options.separator ? [options.separator] : separators).map((one) => attempt(line, one, options));
    const [found] = attempts.sort((a, b) => b.rank - a.rank);
    if (found?.layout) return found.layout;
    if (best === undefined || (found !== undefined && found.rank > best.rank)) best = found;
    if (++searched === SEARCHED || options.header !== undefined) throw best?.error;
    return undefined;
  }
  return { find, /** Why none of the lines so far does. */ problem: () => best?.error };
}

/** A line that is read with a separator: its layout if it has all columns, or else an error, worse the lower its rank is. */
interface Attempt {
  readonly rank: number;
  readonly layout?: NamedLayout;
  readonly error?: PlantStoreError;
}

function attempt(line: Line, separator: Separator, options: LayoutOptions): Attempt {
  const { bytes, number, hasEnd } = line;
  const text = `${separator}${bytes.toString('latin1').toLowerCase()}${separator}`.replaceAll('"', '');
  let rank = columnNames.some((name) => text.includes(separator + name + separator)) ? 0.5 : -1;
  try {
    const names = cellsOf(bytes, separator, MAX_COLUMNS).map((name = '') => name);
    const { columns, guessed, tag } = columnsOf(names, options);
    rank = options.columns ? names.length : columns.filter((column) => column !== '').length;
    checkColumns(columns, options.isNumbered, options.replaces, tag);
    if (!hasEnd && !options.continued) {
      throw new PlantStoreError('invalid_plant', 'the list ends there, without a line end');
    }
    return { rank, layout: { columns, separator, header: number, names, guessed } };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const rule = `it must name the columns, as in id,name,tag, and is ${shown(bytes.toString())}`;
    const cause = hasEnd || bytes.includes('\r') ? '' : '; curl -d removes line ends: use --data-binary';
    const message = `line ${number}: ${error.message}; ${rule}${cause}`;
    return { rank, error: new PlantStoreError(error.code, message) };
  }
}

/** @returns also what the columns would be if that of the tag were guessed, where it must not be */
function columnsOf(names: readonly string[], { columns: given, isNumbered, replaces }: LayoutOptions) {
  if (given) return { columns: [...given, ...names.slice(given.length).map(() => '' as const)], guessed: [] };
  const plain = names.map((name) => name.trim().toLowerCase().replace(/\s+/g, ' '));
  const columns: Column[] = plain.map((name) => columnNames.find((column) => column === name) ?? '');
  const guessed: Guess[] = [];
  for (const role of columnNames) {
    const at = GUESSES[role].map((guess) => plain.indexOf(guess)).find((index) => index >= 0);
    if (at === undefined || columns.includes(role) || (role === 'id' && isNumbered)) continue;
    // A tag that is not one would replace those of all plants.
    if (role === 'tag' && replaces) return { columns, guessed, tag: { name: names[at], all: columns.with(at, role) } };
    columns[at] = role;
    guessed.push({ column: role, name: bounded(names[at] ?? '') });
  }
  return { columns, guessed };
}

/**
 * @param tag a column that may be the tag, and what the columns are then
 * @throws PlantStoreError `invalid_plant` if a column is missing that is needed, is there twice, or must not be there
 */
export function checkColumns(
  columns: readonly Column[],
  isNumbered: boolean,
  replaces: boolean,
  tag?: { readonly name: string | undefined; readonly all: readonly Column[] },
): void {
  const missing = columnNames.slice(isNumbered ? 1 : 0, 2).filter((column) => !columns.includes(column));
  const twice = columnNames.find((column) => columns.indexOf(column) < columns.lastIndexOf(column));
  const advice = tag ? `; if ${shown(tag.name ?? '')} is the tag, say so: columns=${bounded(tag.all.join())}` : '';
  const problem =
    (missing.length > 0 && `there is no column ${missing.join(' and no column ')}`) ||
    (isNumbered && columns.includes('id') && 'there is a column id, but idsFrom is for lists without ids') ||
    (replaces &&
      !columns.includes('tag') &&
      `existing=replace would delete tags, since there is no column tag${advice}`) ||
    (twice !== undefined && `the column ${twice} is there twice`);
  if (problem !== false) throw new PlantStoreError('invalid_plant', problem);
}
