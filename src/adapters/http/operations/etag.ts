import { hash } from 'node:crypto';

/** A strong entity tag (RFC 9110 section 8.8.3): a digest of the representation. */
export function etagOf(representation: string): string {
  return `"${hash('sha256', representation, 'base64url')}"`;
}

/** Whether `If-Match` names this entity tag or any: the strong comparison of RFC 9110 section 13.1.1. */
export function ifMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || listed(header).includes(etag);
}

/**
 * Whether `If-None-Match` names this entity tag or any: the weak comparison of RFC 9110 section 13.1.2. Koa's own,
 * `ctx.fresh`, never matches beside `Cache-Control: no-cache`, which fetch adds to a request that has If-None-Match.
 */
export function ifNoneMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || listed(header).map(opaqueTag).includes(opaqueTag(etag));
}

/** A weak entity tag as a strong one. */
function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, '');
}

function listed(header: string): string[] {
  return header.split(',').map((one) => one.trim());
}
