import Type from 'typebox';
import type { UseCases } from '../../../application/use-cases.ts';
import type { Added } from '../../../domain/plant.ts';
import { RECORDS_MAX, readRecords } from '../../../formats/plant-records.ts';
import { Count, Int64, NewPlant } from '../../../formats/schemas.ts';
import { errorKinds, HttpError } from '../errors.ts';
import { type Operation, operation } from './operation.ts';
import { choice, flag, plantId } from './parameters.ts';
import { plantsGroup } from './plant-operations.ts';
import { CSV_TYPE, jsonResponse } from './responses.ts';

/** The format tells generators of clients to send bytes. */
const content = {
  'application/x-ndjson': Type.String({
    format: 'binary',
    description: 'a NewPlant on each line',
    examples: ['{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}\n'],
  }),
  [CSV_TYPE]: Type.String({
    format: 'binary',
    description:
      'a line that names the columns id, name and tag, and a record for each plant, as listPlants sends them',
    examples: ['id,name,tag\n1,Monstera deliciosa,houseplant\n'],
  }),
};
const Refusal = Type.Object(
  {
    line: Count('the first line of the record in this body, from 1', 7),
    id: Type.Optional(Int64({ description: 'its id, if that is known', examples: [1006] })),
    error: Type.Integer({ format: 'int32', description: 'as in Error', examples: [40009] }),
    message: Type.String({
      description: 'what is wrong and how to fix it, for people',
      examples: ['id 1006 belongs to a different plant'],
    }),
  },
  { title: 'Refusal', description: 'a record of a list that was refused' },
);
const Replacement = Type.Object(
  { before: NewPlant, after: NewPlant },
  { title: 'Replacement', description: 'a plant that would change, as it is and as it would be' },
);

const ImportResult = Type.Object(
  {
    created: Count('how many plants are new', 2),
    changed: Count('how many were replaced', 0),
    unchanged: Count('how many were there already', 1),
    refused: Type.Array(Refusal, { description: 'the records that were refused, in their order' }),
    ignored: Type.Array(Type.String(), {
      description: 'the first names of columns or members that mean nothing',
      examples: [['colour']],
    }),
    records: Count('how many records were read', 4),
    changes: Type.Optional(
      Type.Array(Replacement, { description: 'with `check`, the first plants that would change' }),
    ),
  },
  { title: 'ImportResult', description: 'what became of the records of a list' },
);
const ADVICE = '. Lists with other columns, separators or encodings are read by npm run import, and by the page at /';

/** The operation on lists of plants, each of at most so many bytes. */
export function importOperation({ importPlants }: Pick<UseCases, 'importPlants'>, bytesMax: number): Operation {
  return operation({
    operationId: 'importPlants',
    method: 'POST',
    path: '/import',
    permission: 'create',
    group: plantsGroup,
    summary: 'Import a list of plants',
    description:
      `Up to ${RECORDS_MAX} plants in one request, as if each was sent alone, in order. 200 says what became of them, ` +
      'also if all are refused. After 503, part of the list may be stored: sending it again is safe. With ' +
      '`existing=replace`, the token must permit changing plants, and with `check=true` reading them.',
    query: {
      existing: choice(
        'what becomes of a plant that exists and differs: it is kept, and the record refused, or replaced',
        ['keep', 'replace'],
      ),
      idsFrom: plantId('for records without ids: the id of the first; the others follow it'),
      check: flag('whether to store nothing, and only say what would become of the records'),
    },
    limit: () => 'list',
    check({ existing, idsFrom, check }, permissions) {
      const replaces = existing === 'replace';
      if ((replaces && !permissions.has('change')) || (check && !permissions.has('read')))
        throw new HttpError('insufficient_scope');
      const message = 'idsFrom must be left out with existing=replace: its numbers could be those of any other plants';
      if (replaces && idsFrom !== undefined) throw new HttpError('invalid_request', message);
    },
    body: { content, bytesMax, advice: ADVICE, parse: (bytes: Buffer) => bytes },
    response: jsonResponse(ImportResult),
    async handle({ body, bodyType, query: { existing, idsFrom, check: isCheck = false } }) {
      const replaces = existing === 'replace';
      const isCsv = bodyType === CSV_TYPE;
      const { plants, refusals, ignored } = await readRecords(body, { isCsv, idsFrom, replaces });
      const records = plants.length + refusals.length;
      const list = plants.map(({ plant }) => plant);
      const { outcomes, changes } = await importPlants(list, { replaces, isCheck });
      const counts = { created: 0, changed: 0, unchanged: 0 };
      for (const [n, { line, plant }] of plants.entries()) {
        const code = outcomes[n] as Added;
        // No Error objects, whose stacks would take longer than the rest: a list may have thousands of conflicts.
        if (code === 'id_taken' || code === 'id_retired')
          refusals.push({ line, id: plant.id, code, message: errorKinds[code].message(plant.id) });
        else counts[code]++;
      }
      const refusalBodies = refusals
        .sort((a, b) => a.line - b.line)
        .map(({ code, message, ...record }) => ({ ...record, error: errorKinds[code].error, message }));
      return { ...counts, refused: refusalBodies, ignored, records, ...(isCheck && { changes: [...changes] }) };
    },
  });
}
