import { PlantStoreError } from './errors.ts';

/** A plant as clients see it. */
export interface Plant {
  readonly name: string;
  readonly tag?: string;
}

/** A plant to create, with the id that identifies it. */
export interface NewPlant extends Plant {
  readonly id: bigint;
}

/** What the store has under an id: a plant, nothing, or the mark of a deleted plant, whose id stays taken. */
export type Stored = NewPlant | 'deleted' | undefined;

/** The outcome of adding one plant of a list. */
export type Added = 'created' | 'changed' | 'unchanged' | 'id_taken' | 'id_retired';

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/** The most characters (Unicode code points) of each text. Earlier versions have stored longer texts. */
export const LENGTH_MAX = { name: 1_000, tag: 200 } as const;

const textRule = (field: keyof typeof LENGTH_MAX) =>
  `a string of at most ${LENGTH_MAX[field]} characters without U+0000 and without lone surrogates`;

/** What each field must be; completes "<field> must be ...". */
export const fieldRules = {
  id: `an integer from ${MIN_INT64} to ${MAX_INT64}`,
  name: textRule('name'),
  tag: `${textRule('tag')}, or omitted`,
} as const;

declare const isValid: unique symbol;

/** A plant that meets the rules of its fields. */
export type ValidPlant = NewPlant & { readonly [isValid]: true };

/**
 * Checks the rules that types cannot express: nothing else makes a ValidPlant.
 *
 * @throws PlantStoreError `invalid_plant`, naming the first field that breaks its rule.
 */
export function validatePlant(plant: NewPlant): ValidPlant {
  if (!isPlantId(plant.id)) throw ruleViolation('id');
  if (!isStorableText(plant.name, LENGTH_MAX.name)) throw ruleViolation('name');
  if (plant.tag !== undefined && !isStorableText(plant.tag, LENGTH_MAX.tag)) throw ruleViolation('tag');
  return plant as ValidPlant;
}

export function isPlantId(id: bigint): boolean {
  return id >= MIN_INT64 && id <= MAX_INT64;
}

/** Whether both are plants with equal fields, both are deleted, or both are nothing. */
export function isSamePlant(a: Stored, b: Stored): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  return a.id === b.id && a.name === b.name && a.tag === b.tag;
}

/**
 * Determines the outcome of adding a plant.
 *
 * @param stored what is stored under its id
 * @param replaces whether it replaces a different plant
 */
export function addition(stored: Stored, plant: NewPlant, replaces: boolean): Added {
  if (stored === undefined) return 'created';
  if (stored === 'deleted') return 'id_retired';
  if (isSamePlant(stored, plant)) return 'unchanged';
  return replaces ? 'changed' : 'id_taken';
}

function ruleViolation(field: keyof typeof fieldRules): PlantStoreError {
  return new PlantStoreError('invalid_plant', `${field} must be ${fieldRules[field]}`);
}

/** SQL text holds any Unicode scalar value but U+0000. A lone surrogate is none, and would be silently replaced. */
export function isStorableText(text: string, maxLength: number): boolean {
  // A code point has one or two units of UTF-16.
  const isShort = text.length <= maxLength || (text.length <= 2 * maxLength && [...text].length <= maxLength);
  return isShort && text.isWellFormed() && !text.includes('\0');
}
