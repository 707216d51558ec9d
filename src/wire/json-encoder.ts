import type { TSchema } from 'typebox';

/** Not yet in TypeScript's library (https://github.com/tc39/proposal-json-parse-with-source). */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Creates an encoder for values of the schema: every bigint becomes a JSON number with all of its digits. */
export function jsonEncoder(schema: TSchema): (value: unknown) => string {
  // A replacer is called for each member, so only schemas with an int64 get one.
  if (!JSON.stringify(schema).includes('"format":"int64"')) return (value) => JSON.stringify(value);
  return (value) => JSON.stringify(value, bigintAsNumber);
}

function bigintAsNumber(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(String(value)) : value;
}
