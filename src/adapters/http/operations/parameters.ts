import type { TSchema } from 'typebox';
import { PlantStoreError } from '../../../domain/errors.ts';

/** A parameter in the path of an operation: how it is documented, and what its text says. */
export interface PathParameter<Value> {
  readonly name: string;
  /** Completes "<name> must be ...". */
  readonly mustBe: string;
  readonly schema: TSchema;
  /** Undefined if the text breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

/** The texts in the path of a request, by the names of their parameters. */
export type PathTexts = Readonly<Record<string, string>>;

/** Reads a parameter. @throws PlantStoreError `invalid_plant`, naming it and what it must be */
export function readParameter<Value>({ name, mustBe, parse }: PathParameter<Value>, texts: PathTexts): Value {
  const value = parse(texts[name] ?? '');
  if (value === undefined) throw new PlantStoreError('invalid_plant', `${name} must be ${mustBe}`);
  return value;
}
