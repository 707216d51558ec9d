import { hash } from 'node:crypto';
import { PlantStoreError } from '../../../domain/errors.ts';

/** A strong entity tag (RFC 9110 section 8.8.3): a digest of the representation. */
export function etagOf(representation: string | Buffer): string {
  return `"${hash('sha256', representation, 'base64url')}"`;
}

/** The conditions of a change: first `If-Match`, then `If-None-Match` (RFC 9110 section 13.2.2). */
export interface Preconditions {
  /** Whether a record with this entity tag may be changed. */
  readonly allow: (etag: string) => boolean;
  /** Whether `If-None-Match` alone forbids it. */
  readonly exclude: (etag: string) => boolean;
}

/**
 * @returns undefined if a request has neither header
 * @throws PlantStoreError `invalid_plant` for a header that is no entity tag, as without quotes: it would match nothing,
 * and the client would read the plant again and again
 */
export function preconditionsOf(match: string | undefined, noneMatch: string | undefined): Preconditions | undefined {
  if (match === undefined && noneMatch === undefined) return undefined;
  for (const [name, header] of Object.entries({ 'If-Match': match, 'If-None-Match': noneMatch })) {
    if (header === undefined || isAnyOrTags(header)) continue;
    throw new PlantStoreError('invalid_plant', `${name} must be ETags with their double quotes, such as "abc", or *`);
  }
  const exclude = (etag: string) => noneMatch !== undefined && ifNoneMatch(noneMatch, etag);
  return { exclude, allow: (etag) => (match === undefined || ifMatch(match, etag)) && !exclude(etag) };
}

/** Whether `If-Match` names this entity tag or any: the strong comparison of RFC 9110 section 13.1.1. */
function ifMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || listed(header).includes(etag);
}

/**
 * Whether `If-None-Match` names this entity tag or any: the weak comparison of RFC 9110 section 13.1.2. Koa's own,
 * `ctx.fresh`, never matches beside `Cache-Control: no-cache`, which fetch adds to a request that has If-None-Match.
 */
export function ifNoneMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || listed(header).map(opaqueTag).includes(opaqueTag(etag));
}

/** An entity tag without the mark of weak ones. */
function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, '');
}

/** RFC 9110 section 8.8.3. */
const TAGS = /(?:W\/)?"[!#-~\x80-\xff]*"/g;

function listed(header: string): readonly string[] {
  return header.match(TAGS) ?? [];
}

/** Whether a header is valid: section 5.6.1.2 permits empty elements in a list. */
function isAnyOrTags(header: string): boolean {
  return header.trim() === '*' || (listed(header).length > 0 && /^[\s,]*$/.test(header.replace(TAGS, '')));
}
