import type { UseCases } from '../../../../application/use-cases.ts';
import { ImportResult } from '../../../../wire/import-schema.ts';
import { encodings } from '../../../../wire/lists/encodings.ts';
import { MAX_RECORDS, readPlantList } from '../../../../wire/lists/plant-list.ts';
import { HttpError } from '../../http-errors.ts';
import { type Operation, operation } from '../operation.ts';
import { plantsGroup } from '../plant-operations.ts';
import { jsonResponse } from '../responses.ts';
import { checkImport, importQuery, isTable, listBody, TSV_TYPE } from './import-parameters.ts';
import { layoutOf, resultOf } from './import-response.ts';

const TOO_MANY = `the list must not have more than ${MAX_RECORDS} records: send it in parts, with more=true`;

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
    check: checkImport,
    body: listBody,
    response: jsonResponse(ImportResult),
    async handle({
      body,
      mediaType: { type, charset },
      query: { existing, sameName, continued = false, more = false, check = false, ...form },
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
      const skipsSameNames = sameName === 'skip';
      const { outcomes, compared } = await importPlants(plants, { replaces, skipsSameNames, check });
      const { sameName: leftOut, ...counts } = resultOf(records, outcomes);
      return {
        ...counts,
        ...(skipsSameNames && { sameName: leftOut, compared }),
        ...list,
        ...(layout && layoutOf(layout, check)),
        records: records.length,
        ...(check && { sample: plants.filter((_plant, n) => outcomes[n] === undefined).slice(0, SAMPLE) }),
      };
    },
  });
}
