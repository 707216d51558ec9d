/** Characters of a text from a client that a message shows. */
const SHOWN_LENGTH_MAX = 100;

/** The beginning of a text from a client. */
export function bounded(text: string): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX).toWellFormed()}…` : text;
}

/** Characters that nobody would see, or that control a terminal, except a plain space. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Z}]/gu;

/** The beginning of a text in quotes, with escapes for invisible characters. */
export function shown(text: string): string {
  return visible(JSON.stringify(bounded(text)));
}

/** A text with escapes for invisible characters. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (sign) => (sign === ' ' ? sign : escaped(sign)));
}

/** Each unit of UTF-16 as JSON escapes it. */
function escaped(sign: string): string {
  const units = sign.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
