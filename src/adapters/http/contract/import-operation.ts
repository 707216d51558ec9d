import Type from 'typebox';
import { conflictMessage } from '../../../application/create-plant.ts';
import type { ImportOutcome } from '../../../application/import-plants.ts';
import type { UseCases } from '../../../application/use-cases.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { type Column, checkColumns, MAX_COLUMNS } from '../../../wire/lists/csv.ts';
import { separators } from '../../../wire/lists/csv-cells.ts';
import { type ListRecord, MAX_RECORDS, readPlantList } from '../../../wire/lists/plant-list.ts';
import { ImportResult } from '../../../wire/schemas.ts';
import { errorKinds, HttpError } from '../http-errors.ts';
import { type Operation, operation } from './operation.ts';
import { choice, flag, type Parameter } from './parameters.ts';
import { idParameter, plantsGroup } from './plant-operations.ts';
import { CSV_TYPE, jsonResponse } from './responses.ts';

/** As bytes, which the format says to generators of clients: how they are read depends on the query. */
const body = {
  content: {
    'application/x-ndjson': Type.String({
      format: 'binary',
      description: 'a NewPlant on each line',
      examples: ['{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}\n'],
    }),
    [CSV_TYPE]: Type.String({
      format: 'binary',
      description: 'a line that names the columns, and a record for each plant (RFC 4180)',
      examples: ['id,name,tag\n1,Monstera deliciosa,houseplant\n'],
    }),
  },
  parse: (bytes: Buffer) => bytes,
};

const columns: Parameter<readonly Column[]> = {
  description: 'what the columns of CSV are, in place of a line that names them; empty for a column to ignore',
  mustBe: `id, name and tag, each at most once, or nothing for a column to ignore, separated by commas, at most ${MAX_COLUMNS} of them`,
  schema: Type.String(),
  parse(text) {
    const names = text.split(',') as Column[];
    const isSound = /^(id|name|tag|)(,(id|name|tag|))*$/.test(text) && !/\b(\w+)\b.*\b\1\b/.test(text);
    return isSound && names.length <= MAX_COLUMNS ? names : undefined;
  },
};

const query = {
  existing: choice('what becomes of a plant that exists and differs: it is kept, and the record refused, or replaced', [
    'keep',
    'replace',
  ]),
  idsFrom: { ...idParameter, description: 'for a list without ids: the id of its first record; the others follow it' },
  continued: flag(
    'whether the list began before this body, as for each part after the first: then its first bytes mean what they ' +
      'mean elsewhere in a list, where no byte order mark is left out and no encoding recognized',
  ),
  more: flag('whether the list goes on after this body; what is not complete is not read: send it with the next part'),
  columns,
  separator: choice(
    'what separates the cells of CSV; without it, the line that names the columns shows it',
    separators,
  ),
  check: flag('whether to store nothing, and only say what is refused by its form'),
};

const TOO_MANY = `the list must not have more than ${MAX_RECORDS} records: send it in parts, with more=true`;

const NUMBERS_REPLACE =
  'idsFrom must be left out with existing=replace: numbers that a list is given could be those of any other plants';

/** Plants that a check shows. */
const SAMPLE = 5;

/** The operation on lists of plants. */
export function importOperation({ importPlants }: Pick<UseCases, 'importPlants'>): Operation {
  return operation({
    operationId: 'importPlants',
    method: 'POST',
    path: '/import',
    permission: 'create',
    group: plantsGroup,
    summary: 'Import a list of plants',
    description:
      `Up to ${MAX_RECORDS} plants in one request, as if each was sent alone, in order. 200 says what became of them, ` +
      'also if all are refused. After 503, part of the list may be stored: sending it again is safe. With ' +
      '`existing=replace`, the token must permit changing plants.',
    query,
    limits: 'list',
    check({ existing, idsFrom, columns, separator }, bodyType, permissions) {
      const replaces = existing === 'replace';
      if (replaces && !permissions.has('change')) throw new HttpError('insufficient_scope');
      if (replaces && idsFrom !== undefined) throw new PlantStoreError('invalid_plant', NUMBERS_REPLACE);
      if (bodyType !== CSV_TYPE && (columns ?? separator) !== undefined) {
        throw new PlantStoreError('invalid_plant', `columns and separator are for ${CSV_TYPE} only`);
      }
      if (columns !== undefined) checkColumns(columns, idsFrom !== undefined, replaces);
    },
    body,
    response: jsonResponse(ImportResult),
    errors: [],
    async handle({
      body,
      bodyType,
      query: { existing, continued = false, more = false, check = false, ...form },
      signal,
    }) {
      const replaces = existing === 'replace';
      const options = { isCsv: bodyType === CSV_TYPE, replaces, continued, more, ...form };
      const { records, layout, ...list } = await readPlantList(body, options);
      if (!more && records.length === MAX_RECORDS && list.consumed < body.length)
        throw new HttpError('body_too_large', TOO_MANY);
      const plants = records.flatMap(({ plant }) => plant ?? []);
      const outcomes = check ? [] : await importPlants(plants, { replaces, signal: signal() });
      const count = (wanted: ImportOutcome) => outcomes.filter((outcome) => outcome === wanted).length;
      return {
        created: count('created'),
        changed: count('changed'),
        unchanged: count('unchanged'),
        refused: refusalsOf(records, outcomes),
        ...list,
        ...(layout && { ...layout, columns: [...layout.columns] }),
        records: records.length,
        ...(check && { sample: plants.slice(0, SAMPLE) }),
      };
    },
  });
}

/** @param outcomes of the plants among the records; none if they were not stored */
function refusalsOf(records: readonly ListRecord[], outcomes: readonly ImportOutcome[]) {
  let plants = 0;
  return records.flatMap(({ line, lastLine, id, plant, refusal }) => {
    const refused = refusal ?? conflictOf(plant.id, outcomes[plants++]);
    if (refused === undefined) return [];
    return {
      line,
      lastLine,
      ...(id !== undefined && { id }),
      error: errorKinds[refused.code].error,
      message: refused.message,
    };
  });
}

/** Not an error, whose stack would take longer than the rest: a list may have thousands of them. */
function conflictOf(id: bigint, code: ImportOutcome | undefined) {
  if (code !== 'id_taken' && code !== 'id_retired') return undefined;
  return { code, message: conflictMessage(id, code) };
}
