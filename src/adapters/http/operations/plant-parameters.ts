import Type from 'typebox';
import { isStorableText } from '../../../domain/plant.ts';
import { parsePlantId, plantIdRule } from '../../../wire/plant-id.ts';
import { NewPlant } from '../../../wire/schemas.ts';
import { decimal, type Parameter } from './parameters.ts';

const id: Omit<Parameter<bigint>, 'name'> = {
  mustBe: plantIdRule,
  schema: NewPlant.properties.id,
  parse: parsePlantId,
};

/** The plant that a path names. */
export const plantId: Parameter<bigint> = { name: 'id', ...id };

/** The id after which a list begins. */
export const afterId: Parameter<bigint> = { name: 'after', ...id };

/** How many plants a page has at most. */
export const limit = decimal('limit', 1, 100_000);

/** The tag of all plants in a list. */
export const tagFilter: Parameter<string> = {
  name: 'tag',
  mustBe: 'a string without U+0000',
  schema: Type.String(),
  parse: (text) => (isStorableText(text) ? text : undefined),
};
