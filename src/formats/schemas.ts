import Type from 'typebox';
import { fieldRules, LENGTH_MAX } from '../domain/plant.ts';

/*
 * The wire contract, written once: these schemas validate requests, type the handlers and are the components of the
 * OpenAPI document. A `title` names the component; a `description` says what the value must be, both in the document
 * and in error messages.
 */

/** The most bytes of the JSON of one plant, which take some milliseconds to parse at worst. */
export const PLANT_BYTES_MAX = 64 * 1024;

/** A 64-bit integer: exact on the wire, a bigint in code (see exact-json.ts). */
export const Int64 = (options: object) => Type.Unsafe<bigint>({ type: 'integer', format: 'int64', ...options });

export const Plant = Type.Object(
  {
    name: Type.String({ description: fieldRules.name, maxLength: LENGTH_MAX.name, examples: ['Monstera deliciosa'] }),
    tag: Type.Optional(
      Type.String({ description: fieldRules.tag, maxLength: LENGTH_MAX.tag, examples: ['houseplant'] }),
    ),
  },
  { title: 'Plant' },
);

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

export const PlantList = Type.Array(NewPlant, { title: 'PlantList', description: 'plants in the order of their ids' });

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

/** A whole number that counts something. */
export const Count = (description: string, example: number) =>
  Type.Integer({ format: 'int32', minimum: 0, description, examples: [example] });

export const Changes = Type.Object(
  {
    changes: Type.Immutable(
      Type.Array(Change, { description: 'the newest state of each plant that has changed; empty if nothing is new' }),
    ),
    next: Type.String({
      description: 'where the feed goes on: send it as `after`',
      examples: ['M2YwYzlhNGJlNWQxOGEyYjc3YzZkMWUwZjk0ODFhMzU6NzU0OjE6MDotOTIyMzM3MjAzNjg1NDc3NTgwOA'],
    }),
    atEnd: Type.Boolean({
      description: 'whether the feed has nothing beyond this page yet, so that a first walk is complete',
      examples: [true],
    }),
    heldBackSeconds: Type.Optional(
      Count('for how long an open transaction has held back what comes next; left out unless that is long', 60),
    ),
  },
  { title: 'Changes', description: 'a page of the feed of changes' },
);

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
    tags: Type.Immutable(Type.Array(TagCount, { description: 'the tags, in the order of their UTF-8' })),
    next: Type.Optional(
      Type.String({ description: 'where they go on: send it as `after`; left out at the end', examples: ['tZmVybg'] }),
    ),
  },
  { title: 'TagList', description: 'a page of the tags that plants have' },
);
