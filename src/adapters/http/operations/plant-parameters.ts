import Type from 'typebox';
import { fieldRules, isStorableText, MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import { NewPlant } from '../../../wire/schemas.ts';
import type { Parameter } from './parameters.ts';

/** One spelling for each id, so that each plant has one URL. */
const INT64 = /^(0|-?[1-9]\d{0,18})$/;

const id: Omit<Parameter<bigint>, 'name'> = {
  mustBe: `${fieldRules.id} in decimal digits, without leading zeros or a plus sign`,
  schema: NewPlant.properties.id,
  parse(text) {
    if (!INT64.test(text)) return undefined;
    const value = BigInt(text);
    return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
  },
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
  mustBe: 'a text without U+0000',
  schema: Type.String(),
  parse: (text) => (isStorableText(text) ? text : undefined),
};
