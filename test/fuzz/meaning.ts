import { isUtf8 } from 'node:buffer';

/* What a body asks for, read by other means than the service's: JSON.parse, and arithmetic on the number's text. */

export interface Meaning {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** The plant, or undefined if the contract does not allow the body. */
export function meaningOf(body: Buffer): Meaning | undefined {
  if (!isUtf8(body)) return undefined;
  let value: unknown;
  try {
    // TypeScript does not know of the third parameter.
    value = JSON.parse(body.toString(), numbersAsSymbols as (key: string, value: unknown) => unknown);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members = new Map<string, unknown>(Object.entries(value));
  const id = members.get('id');
  const name = members.get('name');
  const tag = members.has('tag') ? members.get('tag') : null;
  const exact = typeof id === 'symbol' ? int64(id.description ?? '') : undefined;
  if (exact === undefined || !isText(name) || (tag !== null && !isText(tag))) return undefined;
  // A tag of null is none of JSON's, which is no string.
  return members.has('tag') && tag === null ? undefined : { id: String(exact), name, tag };
}

/** Nothing else in JSON becomes a symbol. */
function numbersAsSymbols(_key: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' ? Symbol(source) : value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** As a fraction of two integers, with exponents that no integer of 64 bits can have left out. */
function int64(text: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const numerator = BigInt(whole + fraction);
  const power = Number(exponent) - fraction.length;
  if (numerator === 0n) return 0n;
  if (Math.abs(power) > 1_000) return undefined;
  const value = power >= 0 ? numerator * 10n ** BigInt(power) : numerator / 10n ** BigInt(-power);
  const isExact = power >= 0 || value * 10n ** BigInt(-power) === numerator;
  return isExact && BigInt.asIntN(64, value) === value ? value : undefined;
}
