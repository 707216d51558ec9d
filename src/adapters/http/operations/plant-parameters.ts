import Type from 'typebox';
import { isStorableText } from '../../../domain/plant.ts';
import { parsePlantId, plantIdRule } from '../../../wire/plant-id.ts';
import { NewPlant } from '../../../wire/schemas.ts';
import type { Parameter } from './parameters.ts';

const id: Omit<Parameter<bigint>, 'name'> = {
  mustBe: plantIdRule,
  schema: NewPlant.properties.id,
  parse: parsePlantId,
};

/** The plant that a path names. */
export const plantId: Parameter<bigint> = { name: 'id', ...id };

/** The id after which a list begins. */
export const afterId: Parameter<bigint> = { name: 'after', ...id };

const MAX_LIMIT = 100_000;

/** How many plants a page has at most. */
export const limit: Parameter<number> = {
  name: 'limit',
  mustBe: `an integer from 1 to ${MAX_LIMIT} in decimal digits`,
  schema: Type.Integer({ format: 'int32', minimum: 1, maximum: MAX_LIMIT }),
  parse: (text) => (/^[1-9]\d{0,5}$/.test(text) && Number(text) <= MAX_LIMIT ? Number(text) : undefined),
};

/** The tag of all plants in a list. */
export const tagFilter: Parameter<string> = {
  name: 'tag',
  mustBe: 'a string without U+0000',
  schema: Type.String(),
  parse: (text) => (isStorableText(text) ? text : undefined),
};
