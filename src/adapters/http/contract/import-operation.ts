import Type from 'typebox';
import { holderMessages } from '../../../application/create-plant.ts';
import type { ImportOutcome } from '../../../application/import-plants.ts';
import type { UseCases } from '../../../application/use-cases.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import type { ListRecord } from '../../../wire/lists/line-reader.ts';
import { MOST_RECORDS, readPlantList } from '../../../wire/lists/plant-list.ts';
import { ImportResult } from '../../../wire/schemas.ts';
import { errorKinds, HttpError } from '../http-errors.ts';
import { importParameters } from './import-parameters.ts';
import { type Operation, operation } from './operation.ts';
import { plantsTag } from './plant-operations.ts';
import { jsonResponse } from './responses.ts';

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';

/** As octets: how they are read depends on the query. */
const body = {
  content: {
    [NDJSON]: Type.String({
      description: 'a NewPlant on each line',
      examples: ['{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}\n'],
    }),
    [CSV]: Type.String({
      description: 'a line that names the columns, and a record for each plant (RFC 4180)',
      examples: ['id,name,tag\n1,Monstera deliciosa,houseplant\n'],
    }),
  },
  parse: (bytes: Buffer, type: string) => ({ bytes, format: type === CSV ? ('csv' as const) : ('ndjson' as const) }),
};

/** Imports at once: each holds a list of plants in memory. */
const MOST_RUNNING = 4;

const TOO_MANY = `the list must not have more than ${MOST_RECORDS} records: send it in parts, with more=true`;

/** Plants of a sample. */
const SAMPLE = 5;

/** The operation on lists of plants. */
export function importOperation({ importPlants }: Pick<UseCases, 'importPlants'>): Operation {
  let running = 0;

  return operation({
    operationId: 'importPlants',
    method: 'POST',
    path: '/import',
    permission: 'create',
    tag: plantsTag,
    summary: 'Import a list of plants',
    description:
      `Up to ${MOST_RECORDS} plants in one request, as if each was sent alone, in order. 200 says what became of them, ` +
      'also if all are refused. After 503, part of the list may be stored: sending it again is safe. With ' +
      '`existing=replace`, the token must permit changing plants.',
    query: importParameters,
    alsoNeeds: ({ existing }) => (existing === 'replace' ? 'change' : undefined),
    body,
    response: jsonResponse(ImportResult),
    errors: [],
    async handle({ body: { bytes, format }, query, signal }) {
      // The memory of bodies that are still arriving is bounded by the limits of all writes.
      if (running === MOST_RUNNING) throw new HttpError('overloaded');
      running++;
      try {
        const { existing, idsFrom, more = false, columns, separator, check = false } = query;
        if (format === 'ndjson' && (columns ?? separator) !== undefined) {
          throw new PlantStoreError('invalid_plant', `columns and separator are for ${CSV} only`);
        }
        const replaces = existing === 'replace';
        const options = { format, idsFrom, replaces, more, columns, separator };
        const { records, hasTooMany, layout, ...list } = await readPlantList(bytes, options);
        if (hasTooMany && !more) throw new HttpError('body_too_large', TOO_MANY);
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
      } finally {
        running--;
      }
    },
  });
}

/** @param outcomes of the plants among the records; none if they were not stored */
function refusalsOf(records: readonly ListRecord[], outcomes: readonly ImportOutcome[]) {
  let plants = 0;
  return records.flatMap(({ line, lastLine, id, plant, refusal }) => {
    const refused = refusal ?? conflictOf(plant.id, outcomes[plants++]);
    if (refused === undefined) return [];
    const { code, message } = refused;
    return { line, lastLine, ...(id !== undefined && { id }), error: errorKinds[code].error, message };
  });
}

function conflictOf(id: bigint, outcome: ImportOutcome | undefined) {
  if (outcome !== 'id_taken' && outcome !== 'id_retired') return undefined;
  return { code: outcome, message: holderMessages[outcome](id) };
}
