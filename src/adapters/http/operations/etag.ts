import type { IncomingHttpHeaders } from 'node:http';
import type { NewPlant } from '../../../domain/plant.ts';
import { fingerprintOf, type Precondition } from '../../../domain/precondition.ts';
import { HttpError } from '../errors.ts';

/** A strong entity tag (RFC 9110 section 8.8.3), since only one representation of a plant has it. */
export function etagOf(plant: NewPlant): string {
  return `"${fingerprintOf(plant)}"`;
}

/** Entity tags (RFC 9110 section 8.8.3): the prefix of a weak one, and the opaque part of any. */
const TAGS = /(W\/)?"([!#-~\x80-\xff]*)"/g;

/**
 * The precondition in the headers of a change.
 *
 * @returns undefined if a request has neither header
 * @throws HttpError `invalid_request` for a header that is no entity tag, such as one without quotes: it would match nothing,
 * and the client would read the plant again and again
 */
export function preconditionOf(headers: IncomingHttpHeaders): Precondition | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  // `If-Match` uses the strong comparison (RFC 9110 section 13.1.1), which no weak tag meets; `If-None-Match` the weak one.
  return {
    ...(match !== undefined && { matches: fingerprintsIn('If-Match', match, 'strong') }),
    ...(noneMatch !== undefined && { excludes: fingerprintsIn('If-None-Match', noneMatch, 'weak') }),
  };
}

function fingerprintsIn(name: string, header: string, comparison: 'strong' | 'weak'): 'any' | readonly string[] {
  if (header.trim() === '*') return 'any';
  const tags = [...header.matchAll(TAGS)];
  // Section 5.6.1.2 permits empty elements in a list.
  if (tags.length === 0 || !/^[\s,]*$/.test(header.replace(TAGS, ''))) {
    throw new HttpError('invalid_request', `${name} must be ETags with their double quotes, such as "abc", or *`);
  }
  return tags.flatMap(([, weak, opaque = '']) => (weak && comparison === 'strong' ? [] : opaque));
}

/**
 * Whether `If-None-Match` names this entity tag or any: the weak comparison of RFC 9110 section 13.1.2. Koa's own,
 * `ctx.fresh`, never matches beside `Cache-Control: no-cache`, which fetch adds to a request that has If-None-Match.
 */
export function ifNoneMatch(header: string | undefined, etag: string | undefined): boolean {
  if (header === undefined || etag === undefined) return false;
  const opaqueParts = (tags: string) => Array.from(tags.matchAll(TAGS), ([, , opaque]) => opaque);
  return header.trim() === '*' || opaqueParts(header).includes(opaqueParts(etag)[0]);
}
