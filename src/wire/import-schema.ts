import Type from 'typebox';
import { type Column, columnNames } from './lists/csv-layout.ts';
import type { Encoding } from './lists/encoding-finder.js';
import { encodings } from './lists/encodings.ts';
import { Count, Int64, NewPlant } from './schemas.ts';

/* What an import says, as in `schemas.ts`. */

const Refusal = Type.Object(
  {
    line: Count('the first line of the record in this body, from 1', 7),
    lastLine: Count('its last line: a quoted cell of CSV may have several', 7),
    id: Type.Optional(Int64({ description: 'its id, if that is known', examples: [1006] })),
    unnumbered: Type.Optional(
      Type.Boolean({
        description: 'there, and true, if it has no whole number as its id: another list without ids can number it',
        examples: [true],
      }),
    ),
    error: Type.Integer({ format: 'int32', description: 'as in Error', examples: [40009] }),
    message: Type.String({
      description: 'what is wrong and how to fix it, for people',
      examples: ['id 1006 belongs to a different plant'],
    }),
  },
  { title: 'Refusal', description: 'a record of a list that was refused' },
);

const ColumnName = Type.Unsafe<Exclude<Column, ''>>({ type: 'string', enum: columnNames, examples: ['id'] });

export const ImportResult = Type.Object(
  {
    created: Count('how many plants are new', 2),
    changed: Count('how many were replaced', 0),
    unchanged: Count('how many were there already, or were left out', 1),
    repeated: Count('how many of these are the same as a record before them in this body', 0),
    sameName: Type.Optional(
      Count('with `sameName=skip`, how many of these have the name of a plant with another id', 0),
    ),
    compared: Type.Optional(
      Type.Boolean({
        description: 'with `sameName=skip`, whether names were compared; if not, the import is refused',
        examples: [true],
      }),
    ),
    refused: Type.Array(Refusal, { description: 'the records that were refused, in their order' }),
    ignored: Type.Array(Type.String(), {
      description: 'the first names of columns or members that mean nothing',
      examples: [['colour']],
    }),
    columns: Type.Optional(
      Type.Array(Type.Unsafe<Column>({ type: 'string', enum: [...columnNames, ''] }), {
        description: 'what the columns of CSV are, empty if nothing; join them by commas for the parameter `columns`',
        examples: [['id', 'name', '', 'tag']],
      }),
    ),
    separator: Type.Optional(Type.String({ description: 'what separates the cells of CSV', examples: [';'] })),
    header: Type.Optional(Count('the line of CSV in this body that names the columns, from 1', 1)),
    guessed: Type.Optional(
      Type.Array(Type.Object({ column: ColumnName, name: Type.String({ examples: ['Nr'] }) }), {
        description: 'the columns that were guessed by their names',
        examples: [[{ column: 'id', name: 'Nr' }]],
      }),
    ),
    names: Type.Optional(
      Type.Array(Type.String(), {
        description: 'with `check`, what all columns are called',
        examples: [['Nr', 'name', 'colour', 'tag']],
      }),
    ),
    encoding: Type.Unsafe<Encoding>({
      type: 'string',
      enum: encodings,
      description: 'how the list is encoded: send it with its other parts',
      examples: ['utf-8'],
    }),
    records: Count('how many records were read', 4),
    consumed: Count('where the last complete record, blank line or line of names ends in this body, in bytes', 120),
    sample: Type.Optional(
      Type.Array(NewPlant, { description: 'with `check`, the first plants as they would be stored' }),
    ),
  },
  { title: 'ImportResult', description: 'what became of the records of a list' },
);
