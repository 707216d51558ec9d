import Type from 'typebox';
import type { Permissions } from '../../../../application/permissions.ts';
import { PlantStoreError } from '../../../../domain/errors.ts';
import { separators } from '../../../../wire/lists/csv-cells.ts';
import { type Column, checkColumns, MAX_COLUMNS } from '../../../../wire/lists/csv-layout.ts';
import { encodings } from '../../../../wire/lists/encodings.ts';
import { HttpError } from '../../http-errors.ts';
import type { MediaType } from '../media-types.ts';
import { choice, decimal, flag, type Parameter, type Values } from '../parameters.ts';
import { idParameter } from '../plant-operations.ts';
import { CSV_TYPE } from '../responses.ts';

/* What an import takes: its body and its query. */

const lines = Type.String({
  format: 'binary',
  description: 'a NewPlant on each line',
  examples: ['{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}\n'],
});
const table = (separator: string) =>
  Type.String({
    format: 'binary',
    description: 'a line that names the columns, and a record for each plant (RFC 4180)',
    examples: ['id,name,tag\n1,Monstera deliciosa,houseplant\n'.replaceAll(',', separator)],
  });

export const TSV_TYPE = 'text/tab-separated-values';

export const isTable = (type: string) => type === CSV_TYPE || type === TSV_TYPE;

/** As bytes, which the format says to generators of clients: how they are read depends on the query. */
export const listBody = {
  content: {
    'application/x-ndjson': lines,
    'application/jsonl': lines,
    [CSV_TYPE]: table(','),
    [TSV_TYPE]: table('\t'),
  },
  charsets: encodings,
  advice:
    ". As curl sends it: curl URL/import -H 'Authorization: Bearer TOKEN' -H 'Content-Type: text/csv' --data-binary @plants.csv",
  parse: (bytes: Buffer) => bytes,
};

const columns: Parameter<readonly Column[]> = {
  description:
    'what the columns of CSV are, whatever they are called; empty for one to ignore. Without `header`, no line names them',
  mustBe: `id, name and tag, each at most once, or nothing for a column to ignore, separated by commas, at most ${MAX_COLUMNS} of them`,
  schema: Type.String(),
  parse(text) {
    const names = text.split(',') as Column[];
    const isSound = /^(id|name|tag|)(,(id|name|tag|))*$/.test(text) && !/\b(\w+)\b.*\b\1\b/.test(text);
    return isSound && names.length <= MAX_COLUMNS ? names : undefined;
  },
};

export const importQuery = {
  existing: choice('what becomes of a plant that exists and differs: it is kept, and the record refused, or replaced', [
    'keep',
    'replace',
  ]),
  idsFrom: { ...idParameter, description: 'for a list without ids: the id of its first record; the others follow it' },
  sameName: choice(
    'of a list without ids, which was perhaps imported before: whether a plant is added, or left out, if one with its ' +
      'name is stored under another id, or comes before it in this body',
    ['add', 'skip'],
  ),
  continued: flag(
    'whether the list began before this body, as for each part after the first: then its first bytes mean what they ' +
      'mean elsewhere in a list, where no byte order mark is left out and no encoding recognized',
  ),
  more: flag('whether the list goes on after this body; what is not complete is not read: send it with the next part'),
  encoding: choice('the encoding of CSV, if neither Content-Type nor a byte order mark has it', encodings),
  columns,
  header: decimal(
    { description: 'the line of CSV that names the columns, from 1, if that is not the first with a name and an id' },
    1,
    1_000,
  ),
  separator: choice(
    'what separates the cells of CSV; without it, the line that names the columns shows it',
    separators,
  ),
  check: flag('whether to store nothing, and only say what is refused by its form'),
};

const NAMES_NUMBERED = 'sameName must be left out without idsFrom: plants that have ids are known by these';

const NUMBERS_REPLACE =
  'idsFrom must be left out with existing=replace: numbers that a list is given could be those of any other plants';

/**
 * Checks what no parameter shows alone.
 *
 * @throws PlantStoreError `invalid_plant`, HttpError `insufficient_scope`
 */
export function checkImport(
  { existing, idsFrom, sameName, columns, separator, header, encoding }: Partial<Values<typeof importQuery>>,
  { type, charset }: MediaType,
  permissions: Permissions,
): void {
  const replaces = existing === 'replace';
  if (replaces && !permissions.has('change')) throw new HttpError('insufficient_scope');
  if (replaces && idsFrom !== undefined) throw new PlantStoreError('invalid_plant', NUMBERS_REPLACE);
  if (sameName === 'skip' && idsFrom === undefined) throw new PlantStoreError('invalid_plant', NAMES_NUMBERED);
  if (!isTable(type) && (columns ?? separator ?? header) !== undefined) {
    throw new PlantStoreError('invalid_plant', 'columns, separator and header are for CSV only');
  }
  if (type === TSV_TYPE && (separator ?? '\t') !== '\t') {
    throw new PlantStoreError('invalid_plant', `separator must be a tab, or left out, with ${TSV_TYPE}`);
  }
  if (charset !== undefined && encoding !== undefined && charset !== encoding) {
    throw new PlantStoreError('invalid_plant', `encoding must be left out, or ${charset}, as Content-Type says`);
  }
  if (columns !== undefined) checkColumns(columns, idsFrom !== undefined, replaces);
}
