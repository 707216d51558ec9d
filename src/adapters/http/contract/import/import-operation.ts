import { conflictMessage } from '../../../../application/create-plant.ts';
import type { ImportOutcome } from '../../../../application/import-plants.ts';
import type { UseCases } from '../../../../application/use-cases.ts';
import { PlantStoreError } from '../../../../domain/errors.ts';
import { checkColumns } from '../../../../wire/lists/csv-layout.ts';
import { encodings } from '../../../../wire/lists/encodings.ts';
import { type ListRecord, MAX_RECORDS, readPlantList } from '../../../../wire/lists/plant-list.ts';
import { ImportResult } from '../../../../wire/schemas.ts';
import { bounded } from '../../../../wire/shown.ts';
import { errorKinds, HttpError } from '../../http-errors.ts';
import { type Operation, operation } from '../operation.ts';
import { plantsGroup } from '../plant-operations.ts';
import { jsonResponse } from '../responses.ts';
import { importQuery, isTable, listBody, TSV_TYPE } from './import-parameters.ts';

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
    query: importQuery,
    limits: 'list',
    check({ existing, idsFrom, columns, separator, header, encoding }, { type, charset }, permissions) {
      const replaces = existing === 'replace';
      if (replaces && !permissions.has('change')) throw new HttpError('insufficient_scope');
      if (replaces && idsFrom !== undefined) throw new PlantStoreError('invalid_plant', NUMBERS_REPLACE);
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
    },
    body: listBody,
    response: jsonResponse(ImportResult),
    errors: [],
    async handle({
      body,
      mediaType: { type, charset },
      query: { existing, continued = false, more = false, check = false, ...form },
      signal,
    }) {
      const replaces = existing === 'replace';
      const known = {
        encoding: encodings.find((one) => one === charset),
        ...(type === TSV_TYPE && { separator: '\t' as const }),
      };
      const options = { isCsv: isTable(type), replaces, continued, more, ...known, ...form };
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
        ...(layout && layoutOf(layout, check)),
        records: records.length,
        ...(check && { sample: plants.slice(0, SAMPLE) }),
      };
    },
  });
}

/** @param isWhole whether a person is to choose among the columns by all of their names */
function layoutOf(layout: NonNullable<Awaited<ReturnType<typeof readPlantList>>['layout']>, isWhole: boolean) {
  const { columns, separator } = layout;
  if (!('header' in layout)) return { columns: [...columns], separator };
  const { header, guessed, names } = layout;
  return {
    columns: [...columns],
    separator,
    header,
    ...(guessed.length > 0 && { guessed }),
    ...(isWhole && { names: names.map(bounded) }),
  };
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
