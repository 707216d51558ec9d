import Type from 'typebox';
import { Count, Int64, NewPlant } from './schemas.ts';

/* What an import says, as in `schemas.ts`. */

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

export const ImportResult = Type.Object(
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
