import Type, { type TSchema } from 'typebox';
import { isStorableText } from '../../../domain/plant.ts';
import { decimalId } from '../../../formats/plant-id.ts';
import { Int64 } from '../../../formats/schemas.ts';
import { HttpError } from '../errors.ts';

/** A parameter in a path or a query: its documentation and its parser. */
export interface Parameter<Value> {
  /** Its purpose. */
  readonly description: string;
  /** Completes "<name> must be ...". */
  readonly mustBe: string;
  readonly schema: TSchema;
  /** A first value, with which forms are filled in. */
  readonly example?: number | undefined;
  /** Returns undefined if the text breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

/** Parameters by name. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** The values of parameters. */
export type Values<All extends Parameters> = {
  readonly [Name in keyof All]: All[Name] extends Parameter<infer Value> ? Value : never;
};

/** An id of a plant. */
export function plantId(description: string, example?: number): Parameter<bigint> {
  return { ...decimalId, description, schema: Int64({}), example };
}

/** A number in decimal digits. */
export function decimal(description: string, minimum: number, maximum: number, example?: number): Parameter<number> {
  return {
    description,
    example,
    mustBe: `an integer from ${minimum} to ${maximum} in decimal digits`,
    schema: Type.Integer({ format: 'int32', minimum, maximum }),
    parse: (text) =>
      /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum ? Number(text) : undefined,
  };
}

/** A text that a plant may have. */
export function storableText(description: string, lengthMax: number): Parameter<string> {
  return {
    description,
    mustBe: `a string of at most ${lengthMax} characters without U+0000`,
    schema: Type.String({ maxLength: lengthMax }),
    parse: (text) => (isStorableText(text, lengthMax) ? text : undefined),
  };
}

/** Where a page continues: text that clients receive and send unchanged. */
export function cursor(description: string, mustBe: string, parse = (text: string): string | undefined => text) {
  return { description, mustBe, schema: Type.String(), parse };
}

/** One of several texts. */
export function choice<Text extends string>(description: string, texts: readonly Text[]): Parameter<Text> {
  return {
    description,
    mustBe: texts.map((text) => (text === '\t' ? 'a tab' : text)).join(' or '),
    schema: Type.Unsafe<Text>({ type: 'string', enum: texts }),
    parse: (text) => texts.find((allowed) => allowed === text),
  };
}

export function flag(description: string): Parameter<boolean> {
  const parse = (text: string) => (text === 'true' ? true : text === 'false' ? false : undefined);
  return { description, mustBe: 'false or true', schema: Type.Boolean(), parse };
}

/**
 * Parses decoded parameters; absent ones have no value.
 *
 * @throws HttpError `invalid_request`, naming the first parameter that breaks its rule, and the rule
 */
export function parseParameters(parameters: Parameters, texts: Readonly<Record<string, string>>): Values<Parameters> {
  const values: Record<string, unknown> = {};
  for (const [name, { mustBe, parse }] of Object.entries(parameters)) {
    const text = texts[name];
    if (text === undefined) continue;
    values[name] = parse(text);
    if (values[name] === undefined) throw new HttpError('invalid_request', `${name} must be ${mustBe}`);
  }
  return values;
}

/**
 * Parses a query as forms write queries: percent-encoded UTF-8, with `+` for a space.
 *
 * @param parameters those that are allowed; undefined if any query is ignored
 * @param query without the question mark
 * @param advice what clients should do about any other parameter
 * @throws HttpError `invalid_request`, also for a parameter that is unknown or sent twice, and for bytes that are not UTF-8
 */
export function parseQuery(parameters: Parameters | undefined, query: string, advice = ''): Values<Parameters> {
  if (parameters === undefined) return {};
  const texts: Record<string, string> = {};
  for (const [name, text] of new URLSearchParams(inUtf8(query))) {
    if (!Object.hasOwn(parameters, name)) {
      const names = Object.keys(parameters);
      const rule = `the query may have ${names.length > 0 ? `only ${names.join(', ')}` : 'no parameters'}`;
      throw new HttpError('invalid_request', `${JSON.stringify(name)} is unknown: ${rule}${advice}`);
    }
    if (texts[name] !== undefined) throw new HttpError('invalid_request', `${name} must be given once only`);
    texts[name] = text;
  }
  return parseParameters(parameters, texts);
}

/** URLSearchParams silently replaces bytes that are not UTF-8. */
function inUtf8(query: string): string {
  try {
    decodeURIComponent(query);
    return query;
  } catch {
    throw new HttpError('invalid_request', 'the query must be percent-encoded UTF-8');
  }
}
