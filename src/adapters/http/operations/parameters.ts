import Type, { type TSchema } from 'typebox';
import { PlantStoreError } from '../../../domain/errors.ts';

/** A parameter of an operation: its documentation and its parser. */
export interface Parameter<Value> {
  readonly name: string;
  /** Completes "<name> must be ...". */
  readonly mustBe: string;
  readonly schema: TSchema;
  /** Returns undefined if the text breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

/** A number in decimal digits. */
export function decimal(name: string, minimum: number, maximum: number): Parameter<number> {
  return {
    name,
    mustBe: `an integer from ${minimum} to ${maximum} in decimal digits`,
    schema: Type.Integer({ format: 'int32', minimum, maximum }),
    parse: (text) =>
      /^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum ? Number(text) : undefined,
  };
}

/** Decoded parameters of a request, by name. */
export type ParameterTexts = Readonly<Record<string, string | undefined>>;

/** @throws PlantStoreError `invalid_plant`, naming the parameter and what it must be */
export function readParameter<Value>({ name, mustBe, parse }: Parameter<Value>, text = ''): Value {
  const value = parse(text);
  if (value === undefined) throw new PlantStoreError('invalid_plant', `${name} must be ${mustBe}`);
  return value;
}

/**
 * Decodes a query as forms write it: percent-encoded UTF-8, with `+` for a space.
 *
 * @param query without the question mark
 * @param names of the parameters that there may be
 * @throws PlantStoreError `invalid_plant` for a parameter that is unknown, given twice, or not valid UTF-8
 */
export function decodeQuery(query: string, names: readonly string[]): ParameterTexts {
  const texts = new Map<string, string>();
  for (const pair of query.split('&').filter((part) => part !== '')) {
    const [encodedName = '', ...encoded] = pair.split('=');
    const name = decode(encodedName, 'the name of a parameter');
    if (!names.includes(name)) {
      const known = names.length > 0 ? `only ${names.join(', ')}` : 'no parameters';
      throw new PlantStoreError('invalid_plant', `${JSON.stringify(name)} is unknown: the query may have ${known}`);
    }
    if (texts.has(name)) throw new PlantStoreError('invalid_plant', `${name} must be given once only`);
    texts.set(name, decode(encoded.join('='), name));
  }
  return Object.fromEntries(texts);
}

/** Unlike URLSearchParams, which replaces invalid bytes silently. */
function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new PlantStoreError('invalid_plant', `${name} must be percent-encoded UTF-8`);
  }
}
