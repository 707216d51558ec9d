import type { TSchema } from 'typebox';
import { PlantStoreError } from '../../../domain/errors.ts';

/** A path parameter: its documentation and its parser. */
export interface PathParameter<Value> {
  readonly name: string;
  /** Completes "<name> must be ...". */
  readonly mustBe: string;
  readonly schema: TSchema;
  /** Returns undefined if the text breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

/** The path parameters of a request, unparsed, by name. */
export type PathTexts = Readonly<Record<string, string>>;

/** Reads a parameter. @throws PlantStoreError `invalid_plant`, naming it and what it must be */
export function readParameter<Value>({ name, mustBe, parse }: PathParameter<Value>, texts: PathTexts): Value {
  const value = parse(texts[name] ?? '');
  if (value === undefined) throw new PlantStoreError('invalid_plant', `${name} must be ${mustBe}`);
  return value;
}
