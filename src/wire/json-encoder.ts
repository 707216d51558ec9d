import type { TObject } from 'typebox';

/**
 * Creates the encoder of values that the schema describes. Every int64, a bigint in code, becomes a JSON number with
 * all its digits, which JSON.stringify refuses to write.
 *
 * @returns a function from the value to JSON text
 */
export function jsonEncoder(schema: TObject): (value: unknown) => string {
  const members = Object.entries<{ format?: string }>(schema.properties).map(([name, { format }]) => ({
    name,
    label: `${JSON.stringify(name)}:`,
    encode: format === 'int64' ? String : JSON.stringify,
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
