import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Static, TObject, TSchema } from 'typebox';
import type { Permission, Permissions } from '../../../application/permissions.ts';
import type { Precondition } from '../../../domain/precondition.ts';
import { jsonParser } from '../../../formats/json-parser.ts';
import { HttpError, mediaTypeRule } from '../errors.ts';
import { ifNoneMatch, preconditionOf } from './etag.ts';
import { preferredType, sentType } from './media-types.ts';
import { decodeQuery, type Parameters, parseParameters, type Values } from './parameters.ts';
import type { Reply, ResponseKind } from './responses.ts';

/** How an operation is routed and documented. */
interface Description<Path extends Parameters = Parameters, Query extends Parameters = Parameters> {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path with its parameters in braces, as in `/plants/{id}`. */
  readonly path: string;
  readonly permission: Permission;
  /** The group in the documentation: a tag of OpenAPI. */
  readonly group: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  readonly parameters?: Path;
  /** The parameters in its query, all optional; undefined if it ignores the query. */
  readonly query?: Query;
  /** Whether it honours the headers `If-Match` and `If-None-Match`. */
  readonly isConditional?: boolean;
  /** The kind of limits, other than those of reads and writes: for requests that may wait for long, or are lists. */
  readonly limits?: 'wait' | 'list';
  /** The error statuses that not every operation has. */
  readonly statuses?: readonly number[];
}

/** The parts of a request that an operation checks, unparsed, before the body. */
interface RequestHead {
  readonly path: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  readonly request: Pick<IncomingMessage, 'headers' | 'httpVersion'>;
  readonly permissions: Permissions;
  /** Creates a signal that aborts when the client has left, or has its response. */
  signal(): AbortSignal;
}

/** An operation of the API, as the router, log, metrics and OpenAPI document need it. */
export interface Operation extends Description {
  /** The schema of each media type that its body may have; none if it takes no body. */
  readonly requestContent: Readonly<Record<string, TSchema>>;
  readonly response: Pick<ResponseKind<unknown>, 'content' | 'headers'>;
  /**
   * Checks parameters and headers, before the body is read.
   *
   * @returns a function that performs the operation, given the body, which is empty if it takes none; it rejects with a
   * PlantStoreError or HttpError with one of the documented codes
   * @throws HttpError `invalid_request`, `insufficient_scope`, `not_acceptable` or `unsupported_media_type`
   */
  check(head: RequestHead): (body: Buffer) => Promise<Reply>;
}

interface HandlerInput<Body, Path extends Parameters, Query extends Parameters> extends Pick<RequestHead, 'signal'> {
  readonly body: Body;
  /** The media type of the body; empty if the operation takes none. */
  readonly mediaType: string;
  readonly httpVersion: string;
  readonly path: Values<Path>;
  readonly query: Partial<Values<Query>>;
  /** Undefined without these headers, or if the operation is not conditional. */
  readonly precondition: Precondition | undefined;
  /** The media type of the response; undefined if the request is no read. */
  readonly type: string | undefined;
}

/** The body that an operation takes: its documentation and its parser. */
interface RequestBody<Body> {
  readonly content: Readonly<Record<string, TSchema>>;
  /** What clients should do about another media type, or an unknown parameter. */
  readonly advice?: string;
  readonly parse: (bytes: Buffer) => Body;
}

/** A JSON object that the schema describes. */
export function jsonBody<Schema extends TObject>(schema: Schema): RequestBody<Static<Schema>> {
  return { content: { 'application/json': schema }, parse: jsonParser(schema) };
}

/** For operations without a body: a body that is sent nevertheless is ignored. */
export const noBody: RequestBody<undefined> = { content: {}, parse: () => undefined };

/** Creates an operation from its handler, whose types must match the schemas. */
export function operation<Body, Result, Path extends Parameters, Query extends Parameters>({
  body: { content, advice = '', parse },
  response,
  check,
  handle,
  ...description
}: Description<Path, Query> & {
  readonly body: RequestBody<Body>;
  readonly response: ResponseKind<Result>;
  /**
   * Checks the parameters together.
   *
   * @throws HttpError `invalid_request`, `insufficient_scope`
   */
  readonly check?: (query: Partial<Values<Query>>, permissions: Permissions) => void;
  readonly handle: (input: HandlerInput<Body, Path, Query>) => Promise<Result>;
}): Operation {
  const { method, parameters: pathParameters, query: queryParameters, isConditional } = description;
  const types = Object.keys(response.content);
  const bodyTypes = Object.keys(content);
  const rule = mediaTypeRule(bodyTypes) + advice;
  return {
    ...description,
    requestContent: content,
    response,
    check({ path: texts, query: encoded, request: { headers, httpVersion }, permissions, signal }) {
      const path = parseParameters(pathParameters, texts);
      const queryTexts = queryParameters === undefined ? {} : decodeQuery(encoded, queryParameters, advice);
      const query = parseParameters(queryParameters, queryTexts);
      const precondition = isConditional ? preconditionOf(headers['if-match'], headers['if-none-match']) : undefined;
      const type = method === 'GET' ? preferredType(headers.accept, types) : undefined;
      if (method === 'GET' && type === undefined) {
        throw new HttpError('not_acceptable', `Accept must allow ${types.join(' or ')}`);
      }
      const mediaType = bodyTypes.length > 0 ? sentType(headers, bodyTypes, rule) : '';
      check?.(query, permissions);
      return async (bytes) => {
        const body = parse(bytes);
        const result = await handle({ body, path, query, precondition, type, mediaType, httpVersion, signal });
        const reply = response.reply(result, type);
        return method === 'GET' && isKnown(reply, headers) ? { ...reply, status: 304, body: undefined } : reply;
      };
    },
  };
}

/** Whether the client already has what it requests. */
function isKnown({ headers: { ETag } }: Reply, { 'if-none-match': ifNone }: IncomingHttpHeaders): boolean {
  return ETag !== undefined && ifNone !== undefined && ifNoneMatch(ifNone, ETag);
}
