import type { Static, TObject } from 'typebox';
import type { Permission } from '../../../application/permissions.ts';
import { jsonParser } from '../../../wire/object-parser.ts';
import type { AnyErrorCode } from '../pipeline/errors.ts';
import { ifMatch } from './etag.ts';
import { decodeQuery, type Parameter, type ParameterTexts, readParameter } from './parameters.ts';
import type { Reply, ResponseKind } from './responses.ts';

/** How an operation is routed and documented. */
interface Description {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its parameters in braces, as in `/plants/{id}`. */
  readonly path: string;
  /** What a token must permit. */
  readonly permission: Permission;
  /** Its group in the documentation. */
  readonly tag: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  /** The parameters in its path. */
  readonly parameters?: readonly Parameter<unknown>[];
  /** Those in its query, all optional; undefined if it ignores the query. */
  readonly query?: readonly Parameter<unknown>[];
  /** Whether it honours the header `If-Match`. */
  readonly isConditional?: boolean;
  /** Whether its requests may wait for long: they have a limit of their own. */
  readonly mayWait?: boolean;
  /** Its errors beyond those of every operation. */
  readonly errors: readonly AnyErrorCode[];
}

/** The parts of a request that an operation gets before the body, unparsed. */
interface RequestHead {
  readonly path: ParameterTexts;
  /** Without the question mark. */
  readonly query: string;
  /** The header. */
  readonly accept: string | undefined;
  /** The same of `If-Match`. */
  readonly ifMatch: string | undefined;
  /** Aborts when the client has left. */
  signal(): AbortSignal;
}

/** One operation of the API: all that the router, log, metrics and OpenAPI document need. */
export interface Operation extends Description {
  /** Undefined if it takes no body. */
  readonly requestBody: TObject | undefined;
  readonly response: Pick<ResponseKind<unknown>, 'content' | 'headers'>;
  /**
   * Checks parameters and headers, before the body is read.
   *
   * @returns a function that does the operation, given the body, which is empty if it takes none; it rejects with a
   * PlantStoreError with one of the documented codes
   * @throws PlantStoreError `invalid_plant`, HttpError `not_acceptable`
   */
  prepare(head: RequestHead): (body: Buffer) => Promise<Reply>;
}

/** The parsed input of a handler. */
interface HandlerInput<Body> {
  readonly body: Body;
  /** The value of a parameter in the path. */
  path<Value>(parameter: Parameter<Value>): Value;
  /** The value of a parameter in the query; undefined if it is not given. */
  query<Value>(parameter: Parameter<Value>): Value | undefined;
  /** Whether a record with this entity tag may be changed; undefined if any may. */
  readonly mayChange: ((etag: string) => boolean) | undefined;
  /** Aborts when the client has left. */
  signal(): AbortSignal;
}

/** The body that an operation takes: its documentation and its parser. */
interface RequestBody<Body> {
  readonly schema: TObject | undefined;
  readonly parse: (bytes: Buffer) => Body;
}

/** A JSON object that the schema describes. */
export function jsonBody<Schema extends TObject>(schema: Schema): RequestBody<Static<Schema>> {
  return { schema, parse: jsonParser(schema) };
}

/** For operations without a body: one that a client sends nevertheless is ignored. */
export const noBody: RequestBody<undefined> = { schema: undefined, parse: () => undefined };

/** Creates an operation from its handler, whose types must match the schemas. */
export function operation<Body, Result>({
  body: { schema, parse },
  response,
  handle,
  ...description
}: Description & {
  readonly body: RequestBody<Body>;
  readonly response: ResponseKind<Result>;
  readonly handle: (input: HandlerInput<Body>) => Promise<Result>;
}): Operation {
  const { parameters = [], query: queryParameters } = description;
  const queryNames = queryParameters?.map(({ name }) => name);
  return {
    ...description,
    requestBody: schema,
    response,
    prepare(head) {
      const path = <Value>(parameter: Parameter<Value>) => readParameter(parameter, head.path[parameter.name]);
      parameters.forEach(path);
      const queryTexts = queryNames === undefined ? {} : decodeQuery(head.query, queryNames);
      const query = <Value>(parameter: Parameter<Value>) => {
        const text = queryTexts[parameter.name];
        return text === undefined ? undefined : readParameter(parameter, text);
      };
      queryParameters?.forEach(query);
      const type = response.negotiate(head.accept);
      const { ifMatch: expected, signal } = head;
      const mayChange = expected === undefined ? undefined : (etag: string) => ifMatch(expected, etag);
      return async (bytes) =>
        response.reply(await handle({ body: parse(bytes), path, query, mayChange, signal }), type);
    },
  };
}
