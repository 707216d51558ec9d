import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';
import { HttpError, JSON_TYPE } from '../errors.ts';

/**
 * The media type of a body, without its parameters.
 *
 * @param types the accepted media types
 * @param advice what clients should do about any other
 * @throws HttpError `unsupported_media_type`, also for a charset that is not UTF-8 or ASCII
 */
export function bodyTypeOf(
  { 'content-type': contentType = '', 'content-encoding': coding }: IncomingHttpHeaders,
  types: readonly string[],
  advice = '',
): string {
  const type = contentType === JSON_TYPE ? JSON_TYPE : inUtf8(contentType);
  if (type !== undefined && types.includes(type) && coding === undefined) return type;
  const rule = `Content-Type must be ${types.join(' or ')} in utf-8, without a Content-Encoding`;
  throw new HttpError('unsupported_media_type', rule + advice);
}

/** The type without its parameters; undefined if it is malformed, or has another charset. */
function inUtf8(contentType: string): string | undefined {
  try {
    const { essence, params } = new MIMEType(contentType);
    const charset = params.get('charset') ?? 'utf-8';
    return /^(utf-?8|(us-)?ascii)$/i.test(charset) ? essence : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Chooses among media types by the header `Accept` (RFC 9110 section 12.5.1): the first of the types that the client prefers;
 * undefined if it accepts none. Only the weight of a range counts, since these types have no parameters.
 */
export function preferredType(accept: string | undefined, types: readonly string[]): string | undefined {
  const weights = new Map<string, number>();
  for (const element of (accept?.trim() || '*/*').toLowerCase().split(',')) {
    const [range = '', ...parameters] = element.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(range, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  // The most specific range that matches counts.
  const weightOf = (type: string) =>
    weights.get(type) ?? weights.get(type.replace(/\/.*/, '/*')) ?? weights.get('*/*') ?? 0;
  const [best = ''] = types.toSorted((a, b) => weightOf(b) - weightOf(a));
  return weightOf(best) > 0 ? best : undefined;
}
