import Type, { type Static, type TSchema } from 'typebox';
import type { NewPlant } from '../../../domain/plant.ts';
import { csvCell, type Separator } from '../../../formats/csv.js';
import { jsonText } from '../../../formats/exact-json.ts';
import { plantJson } from '../../../formats/plant-json.ts';
import { JSON_TYPE } from '../errors.ts';
import { etagOf } from './etag.ts';

/** The headers and the body of a successful response. */
interface Reply {
  /** Headers in addition to the common ones, or in place of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, or one text after another if it is streamed. */
  readonly body: string | AsyncIterable<string>;
}

/** How the result of an operation is sent and documented. */
export interface ResponseKind<Result> {
  /** The schema of each media type, the preferred type first. */
  readonly content: Readonly<Record<string, TSchema>>;
  /** The descriptions of its headers, by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param type the media type that the client prefers; undefined if the request is no read */
  reply(result: Result, type: string | undefined): Reply;
}

const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';

/** A JSON value. */
export function jsonResponse<Schema extends TSchema>(schema: Schema): ResponseKind<Static<Schema>> {
  return {
    content: { [JSON_TYPE]: schema },
    headers: {},
    reply: (value) => ({ headers: { 'Content-Type': JSON_TYPE }, body: jsonText(value) }),
  };
}

const ETAG = 'identifies this version of the record; send it as If-Match to change or delete no other';

/** A plant with its ETag. @param isCacheable whether a client may keep the plant while its ETag is unchanged */
export function plantWithETag(schema: TSchema, isCacheable = false): ResponseKind<NewPlant> {
  const caching = isCacheable && { 'Cache-Control': 'private, no-cache' };
  return {
    content: { [JSON_TYPE]: schema },
    headers: { ETag: isCacheable ? `${ETAG}, or as If-None-Match to get 304 while it is the same` : ETAG, ...caching },
    reply: (plant) => ({
      headers: { 'Content-Type': JSON_TYPE, ETag: etagOf(plant), ...caching },
      body: plantJson(plant),
    }),
  };
}

const Lines = Type.String({ description: 'a NewPlant on each line' });
const Csv = Type.String({ description: 'a line that names the columns id, name and tag, and a record for each plant' });

/** A page of a list, and the URL of the next page. */
interface ListResult {
  readonly first: readonly NewPlant[];
  readonly batches: AsyncIterable<readonly NewPlant[]> | undefined;
  /** Relative to the URL of the request. */
  readonly nextUrl: string | undefined;
  /** The separator of the cells of CSV. */
  readonly separator: Separator;
}

/** A JSON array, one JSON value a line, or CSV; streamed if it is long. */
export function listResponse(list: TSchema): ResponseKind<ListResult> {
  return {
    // These are texts: as arrays, validators would take all lines for one value of JSON.
    content: { [JSON_TYPE]: list, [NDJSON_TYPE]: Lines, [CSV_TYPE]: Csv },
    headers: { Link: 'the next page, with rel="next"; left out on the last one (RFC 8288)' },
    reply({ first, batches, nextUrl, separator }, type) {
      const { contentType, start, write, between, end } = listFormat(type, separator);
      const textOf = (plants: readonly NewPlant[]) => plants.map(write).join(between);
      const link = nextUrl !== undefined && { Link: `<${nextUrl}>; rel="next"` };
      const begin = start + textOf(first);
      async function* texts(all: AsyncIterable<readonly NewPlant[]>): AsyncIterable<string> {
        yield begin;
        let isEmpty = first.length === 0;
        for await (const plants of all) {
          yield (isEmpty ? '' : between) + textOf(plants);
          isEmpty = false;
        }
        yield end;
      }
      return {
        headers: { 'Content-Type': contentType, ...link },
        body: batches === undefined ? begin + end : texts(batches),
      };
    },
  };
}

/** How a list is written in a media type. */
function listFormat(type: string | undefined, separator: Separator) {
  if (type === CSV_TYPE) {
    // Both parameters are those of RFC 4180 section 3.
    const contentType = `${CSV_TYPE}; charset=utf-8; header=present`;
    // The import reads this back: an empty cell is no tag, "" an empty tag. Nothing is escaped against formulas.
    const record = ({ id, name, tag }: NewPlant) =>
      `${[id, csvCell(name, separator), tag === undefined ? '' : csvCell(tag, separator)].join(separator)}\r\n`;
    const head = ['id', 'name', 'tag'].join(separator);
    return { contentType, start: `${head}\r\n`, write: record, between: '', end: '' };
  }
  if (type === NDJSON_TYPE) {
    return { contentType: type, start: '', write: (plant: NewPlant) => `${plantJson(plant)}\n`, between: '', end: '' };
  }
  return { contentType: JSON_TYPE, start: '[', write: plantJson, between: ',', end: ']' };
}
