import { hash } from 'node:crypto';

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

/** @returns undefined if a request has neither header */
export function preconditionsOf(match: string | undefined, noneMatch: string | undefined): Preconditions | undefined {
  if (match === undefined && noneMatch === undefined) return undefined;
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

function listed(header: string): string[] {
  return header.split(',').map((one) => one.trim());
}
