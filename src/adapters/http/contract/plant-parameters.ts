import Type from 'typebox';
import { isStorableText } from '../../../domain/plant.ts';
import { parsePlantId, plantIdRule } from '../../../wire/plant-id.ts';
import { PlantId } from '../../../wire/schemas.ts';
import { decimal, type Parameter } from './parameters.ts';

const id = { mustBe: plantIdRule, schema: PlantId, parse: parsePlantId };

export const plantId: Parameter<bigint> = { ...id, description: 'the id of the plant' };

export const afterId: Parameter<bigint> = {
  ...id,
  description: 'only plants with larger ids than this',
};

export const limit = decimal(
  { description: 'the largest number of plants to send; without it, all are sent', example: 100 },
  1,
  // Any int32, as clients of public stores send it.
  2 ** 31 - 1,
);

export const tagFilter: Parameter<string> = {
  description: 'only plants with exactly this tag, which may be empty',
  mustBe: 'a string without U+0000',
  schema: Type.String(),
  parse: (text) => (isStorableText(text) ? text : undefined),
};
