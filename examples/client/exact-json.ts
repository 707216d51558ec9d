/* JSON with integers that a number cannot hold: int64 ids as bigint. */

declare global {
  /** TC39 proposal-json-parse-with-source; in Node.js since 21, but not in TypeScript's types yet. */
  interface JSON {
    rawJSON(text: string): unknown;
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

if (!('rawJSON' in JSON)) throw new Error('exact ids need JSON.rawJSON: Node.js 22 or later, or a current browser');

/** JSON.stringify refuses a bigint, and as a number it would lose digits. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));
}

/** JSON.parse makes a number of an id, which loses digits; the text that it was made of has them all. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (key, value, { source }) => (key === 'id' && source ? BigInt(source) : value));
}
