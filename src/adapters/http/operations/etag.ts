import type { IncomingHttpHeaders } from 'node:http';
import type { NewPlant } from '../../../domain/plant.ts';
import { fingerprintOf, type Precondition } from '../../../domain/precondition.ts';
import { HttpError } from '../errors.ts';

/** A strong entity tag (RFC 9110 section 8.8.3), since only one representation of a plant has it. */
export function etagOf(plant: NewPlant): string {
  return `"${fingerprintOf(plant)}"`;
}

/**
 * The precondition in the headers of a change.
 *
 * @returns undefined if a request has neither header
 * @throws HttpError `invalid_request` for a header that is no entity tag, such as one without quotes: it would match nothing,
 * and the client would read the plant again and again
 */
export function preconditionOf({
  'if-match': match,
  'if-none-match': noneMatch,
}: IncomingHttpHeaders): Precondition | undefined {
  if (match === undefined && noneMatch === undefined) return undefined;
  // `If-Match` uses the strong comparison (RFC 9110 section 13.1.1), which no weak tag meets; `If-None-Match` the weak one.
  return {
    ...(match !== undefined && { matches: fingerprintsIn('If-Match', match, (tag) => tag.startsWith('"')) }),
    ...(noneMatch !== undefined && { excludes: fingerprintsIn('If-None-Match', noneMatch, () => true) }),
  };
}

function fingerprintsIn(name: string, header: string, isCompared: (tag: string) => boolean): 'any' | readonly string[] {
  if (header.trim() === '*') return 'any';
  const tags = tagsIn(header);
  // Section 5.6.1.2 permits empty elements in a list.
  if (tags.length === 0 || !/^[\s,]*$/.test(header.replace(TAGS, ''))) {
    throw new HttpError('invalid_request', `${name} must be ETags with their double quotes, such as "abc", or *`);
  }
  return tags.filter(isCompared).map((tag) => opaqueTag(tag).slice(1, -1));
}

/**
 * Whether `If-None-Match` names this entity tag or any: the weak comparison of RFC 9110 section 13.1.2. Koa's own,
 * `ctx.fresh`, never matches beside `Cache-Control: no-cache`, which fetch adds to a request that has If-None-Match.
 */
export function ifNoneMatch(header: string | undefined, etag: string | undefined): boolean {
  if (header === undefined || etag === undefined) return false;
  return header.trim() === '*' || tagsIn(header).map(opaqueTag).includes(opaqueTag(etag));
}

/** An entity tag without the prefix of weak tags. */
function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, '');
}

/** Entity tags (RFC 9110 section 8.8.3). */
const TAGS = /(?:W\/)?"[!#-~\x80-\xff]*"/g;

function tagsIn(header: string): readonly string[] {
  return header.match(TAGS) ?? [];
}
