import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../../../domain/errors.ts';
import { jsonEncoder } from '../../../wire/json-encoder.ts';
import { jsonParser } from '../../../wire/object-parser.ts';
import { type PathParameter, type PathTexts, readParameter } from './parameters.ts';

/** How an operation is routed and documented. */
interface Description {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its parameters in braces, as in `/plants/{id}`. */
  readonly path: string;
  /** Its group in the documentation. */
  readonly tag: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly PathParameter<unknown>[];
  /** Its errors beyond those of every operation. */
  readonly errors: readonly ErrorCode[];
}

/** The parts of a request that an operation gets, unparsed. */
interface RequestInput {
  readonly path: PathTexts;
  /** Empty if the operation takes no body. */
  readonly body: Buffer;
}

/** One operation of the API: all that the router, log, metrics and OpenAPI document need. */
export interface Operation extends Description {
  /** Undefined if it takes no body. */
  readonly requestBody: TObject | undefined;
  readonly response: TSchema;
  /** Checks the parameters, before the body is read. @throws PlantStoreError `invalid_plant` */
  check(path: PathTexts): void;
  /** Resolves to the JSON of the 200 response. @throws PlantStoreError with one of its documented codes */
  invoke(input: RequestInput): Promise<string>;
}

/** The parsed input of a handler. */
interface HandlerInput<Body> {
  readonly body: Body;
  /** The value of one of the operation's parameters. */
  parameter<Value>(parameter: PathParameter<Value>): Value;
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
export function operation<Body, Response extends TSchema>({
  body: { schema, parse },
  response,
  handle,
  ...description
}: Description & {
  readonly body: RequestBody<Body>;
  readonly response: Response;
  readonly handle: (input: HandlerInput<Body>) => Promise<Static<Response>>;
}): Operation {
  const encode = jsonEncoder(response);
  return {
    ...description,
    requestBody: schema,
    response,
    check(path) {
      for (const parameter of description.parameters ?? []) readParameter(parameter, path);
    },
    async invoke({ path, body }) {
      return encode(await handle({ body: parse(body), parameter: (parameter) => readParameter(parameter, path) }));
    },
  };
}
