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
 * Chooses among media types by the header `Accept` (RFC 9110 section 12.5.1): the first of those that the client
 * prefers; undefined if it accepts none.
 */
export function preferredType(accept: string | undefined, types: readonly string[]): string | undefined {
  if (accept === undefined || accept.trim() === '' || accept === '*/*') return types[0];
  const ranges = (accept.match(RANGES) ?? [])
    .map(mediaRange)
    .filter(({ range, weight }) => weight > 0 || !range.endsWith(';'));
  const weights = types.map((type) => weightOf(type, ranges));
  const best = Math.max(...weights);
  return best > 0 ? types[weights.indexOf(best)] : undefined;
}

/* Separated by commas, and the parts of a range by semicolons; both may also be within quotes. */
const RANGES = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g;
const PARTS = /(?:[^;"]|"(?:\\.|[^"\\])*"?)+/g;

interface MediaRange {
  /** Ends with a semicolon if it has parameters: it is narrower than the type, whose refusal it cannot be. */
  readonly range: string;
  /** From 0, not acceptable, to 1. */
  readonly weight: number;
}

function mediaRange(text: string): MediaRange {
  const [range = '', ...parameters] = (text.match(PARTS) ?? []).map((part) => part.trim().toLowerCase());
  const isWeight = (parameter: string) => parameter.startsWith('q=');
  const weight = parameters.find(isWeight)?.slice(2);
  return {
    range: parameters.every(isWeight) ? range : `${range};`,
    weight: weight === undefined ? 1 : Number(weight) || 0,
  };
}

/** The most specific range that matches counts; a range with parameters counts if none without them matches. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  const [family] = type.split('/');
  for (const candidate of [type, `${family}/*`, '*/*'].flatMap((range) => [range, `${range};`])) {
    const match = ranges.find(({ range }) => range === candidate);
    if (match !== undefined) return match.weight;
  }
  return 0;
}
