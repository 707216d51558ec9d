import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';
import { HttpError, mediaTypeRule } from '../http-errors.ts';

/** The media type of a body, which must be among these. @throws HttpError `unsupported_media_type` */
export function sentType(headers: IncomingHttpHeaders, types: readonly string[]): string {
  const type = utf8Type(headers['content-type']);
  if (types.includes(type) && headers['content-encoding'] === undefined) return type;
  throw new HttpError('unsupported_media_type', mediaTypeRule(types));
}

/** The media type without its parameters; empty if it is malformed or its charset is not UTF-8. */
function utf8Type(contentType = ''): string {
  if (contentType === 'application/json') return contentType;
  try {
    const { essence, params } = new MIMEType(contentType);
    return (params.get('charset') ?? 'utf-8').toLowerCase() === 'utf-8' ? essence : '';
  } catch {
    return '';
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
