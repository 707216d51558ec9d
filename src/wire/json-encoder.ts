declare global {
  interface JSON {
    /** https://tc39.es/proposal-json-parse-with-source/#sec-json.rawjson, which TypeScript does not know yet. */
    rawJSON(text: string): unknown;
  }
}

/** JSON.stringify, but that writes a bigint as a number with all its digits. */
export function jsonText(value: object): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? JSON.rawJSON(`${member}`) : member));
}
