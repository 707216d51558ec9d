import Type from 'typebox';
import { fieldRules } from '../domain/plant.ts';
import type { Column } from './lists/csv-layout.ts';
import type { Encoding } from './lists/encoding-finder.js';

/*
 * The wire contract, written once: these schemas validate requests, type the handlers and are the components of the
 * OpenAPI document. A `title` names the component; a `description` says what the value must be, both in the document
 * and in error messages.
 */

/** A 64-bit integer: exact on the wire, a bigint in code (see json-integer.ts). */
const Int64 = (options: object) => Type.Unsafe<bigint>({ type: 'integer', format: 'int64', ...options });

export const Plant = Type.Object(
  {
    name: Type.String({ description: fieldRules.name, examples: ['Monstera deliciosa'] }),
    tag: Type.Optional(Type.String({ description: fieldRules.tag, examples: ['houseplant'] })),
  },
  { title: 'Plant' },
);

/** Outside JSON: in a path or a query. */
export const PlantId = Int64({});

export const NewPlant = Type.Object(
  { id: Int64({ description: fieldRules.id, examples: [1] }), ...Plant.properties },
  { title: 'NewPlant', description: 'an object with an id, a name and an optional tag' },
);

/** The rule of an id in the body if the path has an id, too; completes "id must be ...". */
export const sameIdRule = 'the id in the path, or omitted';

export const ChangedPlant = Type.Object(
  { id: Type.Optional(Int64({ description: sameIdRule, examples: [1] })), ...Plant.properties },
  {
    title: 'ChangedPlant',
    description: 'an object with a name and an optional tag',
    // PUT replaces: a misspelt `tag` would remove the tag that it was to set.
    additionalProperties: false,
  },
);

export const PlantList = Type.Array(NewPlant, { title: 'PlantList', description: 'plants in ascending order of id' });

const Deletion = Type.Object(
  {
    id: NewPlant.properties.id,
    deleted: Type.Literal(true, { description: 'the plant was deleted', examples: [true] }),
  },
  { title: 'Deletion', description: 'a plant that was deleted' },
);

const Change = Type.Union([NewPlant, Deletion], {
  title: 'Change',
  description: 'the newest state of a plant, or that it was deleted',
});

export const Changes = Type.Object(
  {
    changes: Type.Array(Change, {
      description: 'the newest state of each plant that has changed; empty if nothing is new',
    }),
    next: Type.String({
      description: 'where the feed goes on: send it as `after`',
      examples: ['M2YwYzlhNGJlNWQxOGEyYjc3YzZkMWUwZjk0ODFhMzU6NzU0OjE6MDotOTIyMzM3MjAzNjg1NDc3NTgwOA'],
    }),
    atEnd: Type.Boolean({
      description: 'whether the feed has nothing beyond this part yet, so that a first walk is complete',
      examples: [true],
    }),
  },
  { title: 'Changes', description: 'a part of the feed of changes' },
);

/** A whole number that counts something. */
const Count = (description: string, example: number) =>
  Type.Integer({ format: 'int32', minimum: 0, description, examples: [example] });

export const PlantCount = Type.Object(
  {
    count: Count('how many plants were found', 9999),
    isExact: Type.Boolean({ description: 'whether there are no more', examples: [true] }),
  },
  { title: 'PlantCount', description: 'how many plants there are, if not very many' },
);

const TagCount = Type.Object(
  {
    tag: Type.String({ description: fieldRules.tag, examples: ['fern'] }),
    count: Count('how many plants have it, if not more than 1000', 12),
    isExact: Type.Boolean({ description: 'whether there are no more', examples: [true] }),
  },
  { title: 'TagCount', description: 'a tag, and how many plants have it' },
);

export const TagList = Type.Object(
  {
    tags: Type.Array(TagCount, { description: 'the tags, in an order of the database' }),
    next: Type.Optional(
      Type.String({ description: 'where they go on: send it as `after`; left out at the end', examples: ['ImZlcm4i'] }),
    ),
  },
  { title: 'TagList', description: 'a part of the tags that plants have' },
);

const Refusal = Type.Object(
  {
    line: Count('the first line of the record in this body, from 1', 7),
    lastLine: Count('its last line: a quoted cell of CSV may have several', 7),
    id: Type.Optional(Int64({ description: 'its id, if that is known', examples: [1006] })),
    error: Type.Integer({ format: 'int32', description: 'as in Error', examples: [40009] }),
    message: Type.String({
      description: 'what is wrong and how to fix it, for people',
      examples: ['id 1006 belongs to a different plant'],
    }),
  },
  { title: 'Refusal', description: 'a record of a list that was refused' },
);

const ColumnName = Type.Unsafe<Exclude<Column, ''>>({ type: 'string', enum: ['id', 'name', 'tag'], examples: ['id'] });

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
      Type.Array(Type.Unsafe<Column>({ type: 'string', enum: ['id', 'name', 'tag', ''] }), {
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
      enum: ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'],
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

export const ErrorBody = Type.Object(
  {
    error: Type.Integer({
      format: 'int32',
      description: 'the HTTP status followed by two digits that identify the error',
      examples: [40022],
    }),
    message: Type.String({
      description: 'what is wrong and how to fix it, for people',
      examples: [`name must be ${fieldRules.name}`],
    }),
  },
  { title: 'Error' },
);
