/** Characters of a text from a client that a message shows. */
const SHOWN_LENGTH_MAX = 100;

/** The beginning of a text from a client. */
export function bounded(text: string): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX).toWellFormed()}…` : text;
}

/** Characters that nobody would see, or that control a terminal, except a plain space. */
const INVISIBLE = /(?! )[\p{Cc}\p{Cf}\p{Z}]/gu;

/** The beginning of a text in quotes, with escapes for invisible characters. */
export function shown(text: string): string {
  return visible(JSON.stringify(bounded(text)));
}

/** A text with an escape of JSON for each unit of UTF-16 of an invisible character. */
export function visible(text: string): string {
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(INVISIBLE, (character) => character.split('').map(escapeUnit).join(''));
}
