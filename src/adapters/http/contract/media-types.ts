import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';
import { HttpError } from '../http-errors.ts';

/** What Content-Type says of a body. */
export interface MediaType {
  /** Without its parameters. */
  readonly type: string;
  /** One of those that the body may have; undefined if none is given. */
  readonly charset: string | undefined;
}

/**
 * The media type of a body.
 *
 * @param types those that it may have
 * @param charsets likewise, as TextDecoder calls them
 * @param rule the message if it has another
 * @throws HttpError `unsupported_media_type`
 */
export function sentType(
  { 'content-type': sent = '', 'content-encoding': coding }: IncomingHttpHeaders,
  types: readonly string[],
  charsets: readonly string[],
  rule: string,
): MediaType {
  const known = sent === 'application/json' ? { type: sent, charset: undefined } : parsed(sent);
  const { type = '', charset = charsets[0] ?? '' } = known;
  if (types.includes(type) && charsets.includes(charset) && coding === undefined)
    return { type, charset: known.charset };
  throw new HttpError('unsupported_media_type', rule);
}

/** Nothing if it is malformed, or its charset is unknown. */
function parsed(contentType: string): Partial<MediaType> & Pick<MediaType, 'charset'> {
  try {
    const { essence, params } = new MIMEType(contentType);
    const charset = params.get('charset')?.toLowerCase();
    // TextDecoder takes it for Windows-1252.
    const isAscii = charset === 'us-ascii' || charset === 'ascii';
    return { type: essence, charset: isAscii ? 'utf-8' : charset && new TextDecoder(charset).encoding };
  } catch {
    return { charset: undefined };
  }
}

/**
 * Chooses among media types by the header `Accept` (RFC 9110 section 12.5.1): the first of those that the client prefers;
 * undefined if it accepts none. Of a range's parameters only its weight counts, since none of these types has another.
 */
export function preferredType(accept: string | undefined, types: readonly string[]): string | undefined {
  const ranges = (accept?.trim() || '*/*')
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()));
  const weights = new Map(
    ranges.map(([range, ...parameters]) => {
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [range, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
    }),
  );
  // The most specific range that matches counts.
  const weightOf = (type: string) =>
    weights.get(type) ?? weights.get(type.replace(/\/.*/, '/*')) ?? weights.get('*/*') ?? 0;
  const [best = ''] = types.toSorted((one, other) => weightOf(other) - weightOf(one));
  return weightOf(best) > 0 ? best : undefined;
}
