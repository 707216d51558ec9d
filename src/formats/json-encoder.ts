import type { TSchema } from 'typebox';

/** What this encoder knows of schemas. */
interface Described {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
}

/**
 * Creates the encoder of values that the schema describes. Every int64, a bigint in code, becomes a JSON number with
 * all its digits, which JSON.stringify refuses to write.
 *
 * @returns a function from the value to JSON text
 */
export function jsonEncoder(schema: TSchema): (value: unknown) => string {
  const { type, properties, items } = schema as Described;
  if (type === 'integer') return String;
  if (items !== undefined) {
    const encode = jsonEncoder(items);
    return (values) => `[${(values as readonly unknown[]).map((value) => encode(value)).join()}]`;
  }
  if (properties === undefined) return JSON.stringify;
  const members = Object.entries(properties).map(([name, member]) => ({
    name,
    label: `${JSON.stringify(name)}:`,
    encode: jsonEncoder(member),
  }));
  return (value) => {
    const object = value as Readonly<Record<string, unknown>>;
    let text = '';
    for (const { name, label, encode } of members) {
      const member = object[name];
      if (member !== undefined) text += `${text === '' ? '' : ','}${label}${encode(member)}`;
    }
    return `{${text}}`;
  };
}
