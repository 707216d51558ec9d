/*
 * JSON.parse is unsuitable for untrusted bodies: a megabyte of objects with many different keys blocks the event loop
 * for a tenth of a second (each creates a hidden class), it loses digits of large integers, and V8 may mistake an
 * escaped key for a key of another request (https://github.com/nodejs/node/issues/63785). This scanner reads each
 * character once and builds only the requested members.
 */

/** RFC 8259 sections 3, 6 and 7. */
const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SIMPLE_ESCAPES = '"\\/bfnrt';
/** The length of an escape like \u0069. */
const CODE_ESCAPE = 6;

/** Arrays and objects within each other: the brackets of a megabyte of them would block the event loop for 75 ms. */
const MAX_DEPTH = 1_000;

/** Of other members. */
const MAX_OTHER_KEYS = 20;

interface JsonMembers {
  /** The source text of each requested member that is there. */
  readonly requested: ReadonlyMap<string, string>;
  /** The first keys of other members, as they were written. */
  readonly otherKeys: readonly string[];
}

/**
 * Finds the named members of the outermost object; the last of duplicates wins, as in JSON.parse.
 *
 * @param names ASCII letters only
 * @returns undefined if the outermost value is not an object
 * @throws SyntaxError if the text is not JSON, RangeError if it is nested more than MAX_DEPTH deep, saying what it must
 */
export function jsonMembers(json: string, names: readonly string[]): JsonMembers | undefined {
  const requested = new Map<string, string>();
  const otherKeys: string[] = [];
  /** The closing brackets still expected, the innermost last. */
  const closings: string[] = [];
  let at = skipSpace(json, 0);
  const isObject = json[at] === '{';
  /** The requested member whose value comes next, if any. */
  let name: string | undefined;
  let valueStart = 0;

  while (true) {
    if (json[at] === '{' || json[at] === '[') {
      if (closings.length === MAX_DEPTH) throw new RangeError(`not be nested more than ${MAX_DEPTH} deep`);
      const closing = json[at] === '{' ? '}' : ']';
      closings.push(closing);
      at = skipSpace(json, at + 1);
      if (json[at] !== closing) {
        if (closing === '}') readKey();
        continue;
      }
    } else {
      endValue(json[at] === '"' ? stringEnd(json, at) : literalEnd(json, at));
    }
    while (closings.length > 0 && json[at] !== ',') {
      if (json[at] !== closings.pop()) throw new SyntaxError();
      endValue(at + 1);
    }
    if (closings.length === 0) {
      if (at !== json.length) throw new SyntaxError();
      return isObject ? { requested, otherKeys } : undefined;
    }
    at = skipSpace(json, at + 1);
    if (closings.at(-1) === '}') readKey();
  }

  /** Advances from a key to its value. */
  function readKey(): void {
    if (json[at] !== '"') throw new SyntaxError();
    const end = stringEnd(json, at);
    if (closings.length === 1) {
      name = undefined;
      // `find` would need a new function for each key.
      for (const one of names) if (isName(json, at, end, one)) name = one;
      if (name === undefined && otherKeys.length < MAX_OTHER_KEYS) otherKeys.push(json.slice(at, end));
    }
    at = skipSpace(json, end);
    if (json[at] !== ':') throw new SyntaxError();
    at = skipSpace(json, at + 1);
    if (closings.length === 1) valueStart = at;
  }

  /** Keeps a requested value and advances to the next token. */
  function endValue(end: number): void {
    if (closings.length === 1 && name !== undefined) requested.set(name, json.slice(valueStart, end));
    at = skipSpace(json, end);
  }
}

function skipSpace(json: string, start: number): number {
  for (let at = start; ; at++) {
    const code = json.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

function literalEnd(json: string, start: number): number {
  LITERAL.lastIndex = start;
  if (!LITERAL.test(json)) throw new SyntaxError();
  return LITERAL.lastIndex;
}

function stringEnd(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) at = escapeEnd(json, at) - 1;
    else if (!(code >= 0x20)) throw new SyntaxError(); // a control character, or NaN past the end
  }
}

function escapeEnd(json: string, start: number): number {
  if (json[start + 1] !== 'u') {
    if (!SIMPLE_ESCAPES.includes(json[start + 1] ?? ' ')) throw new SyntaxError();
    return start + 2;
  }
  if (Number.isNaN(hexValue(json, start + 2))) throw new SyntaxError();
  return start + CODE_ESCAPE;
}

/** The value of four hexadecimal digits, or NaN if there are not four. */
function hexValue(json: string, start: number): number {
  let value = 0;
  for (let at = start; at < start + 4; at++) {
    const code = json.charCodeAt(at);
    const lowerCase = code | 0x20;
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (lowerCase >= 0x61 && lowerCase <= 0x66) value = value * 16 + lowerCase - 0x57;
    else return Number.NaN;
  }
  return value;
}

/** Whether the key from `start` to `end`, with its quotes and escapes, is this name of ASCII letters. */
function isName(json: string, start: number, end: number, name: string): boolean {
  let at = start + 1;
  for (let index = 0; index < name.length; index++) {
    const letter = name.charCodeAt(index);
    if (json.charCodeAt(at) === letter) at++;
    else if (json.startsWith('\\u', at) && hexValue(json, at + 2) === letter) at += CODE_ESCAPE;
    else return false;
  }
  return at === end - 1;
}
