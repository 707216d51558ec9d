import { ErrorBody } from '../../../wire/schemas.ts';
import { type AnyErrorCode, errorKinds } from '../pipeline/errors.ts';
import type { Operation } from './operation.ts';

/** The OpenAPI 3.1.0 document of the operations, generated from the schemas that validate requests. */
export function openApiDocument(operations: readonly Operation[], baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const schemas: Record<string, object> = {};
  const tags = new Set<Operation['tag']>();
  for (const operation of operations) {
    const { method, path, operationId, tag, summary, description, parameters = [], requestBody, response } = operation;
    tags.add(tag);
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        operationId,
        tags: [tag.name],
        summary,
        description,
        ...(parameters.length > 0 && {
          parameters: parameters.map(({ name, mustBe, schema }) => ({
            ...{ name, in: 'path', required: true, description: mustBe, schema },
          })),
        }),
        ...(requestBody && { requestBody: { required: true, content: json(requestBody) } }),
        responses: {
          200: { description: `${titleOf(response)} response`, content: json(response) },
          ...errorResponses(errorsOf(operation)),
        },
      },
    };
    for (const schema of [requestBody ?? [], response, ErrorBody].flat()) schemas[titleOf(schema)] = schema;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: 'Commits plants to SQL. 200 means committed, and sending the same request again is always safe.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Paths begin with a slash.
    servers: [{ url: baseUrl.replace(/\/$/, '') }],
    security: [{ bearerAuth: [] }],
    tags: [...tags],
    paths,
    components: { securitySchemes: { bearerAuth }, schemas },
  };
}

/** The errors of every request, and those of every request with a body. */
const ANY_REQUEST = [
  'malformed_request',
  'token_missing',
  'token_refused',
  'request_too_slow',
  'expectation_failed',
  'headers_too_large',
  'unexpected',
  'store_unavailable',
] as const;
const ANY_BODY = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'invalid_plant'] as const;

function errorsOf({ requestBody, parameters, errors }: Operation): AnyErrorCode[] {
  const invalid = parameters ? (['invalid_plant'] as const) : [];
  return [...new Set([...ANY_REQUEST, ...(requestBody ? ANY_BODY : invalid), ...errors])];
}

const bearerAuth = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token of this service. If none is configured, `npm start` prints it and keeps it in ' +
    '`data/access-token`; otherwise the operator of this service has it.',
};

/** One response for each status, with its error numbers as literals, so that generated types distinguish them. */
function errorResponses(codes: readonly AnyErrorCode[]): Record<number, object> {
  const responses: Record<number, object> = {};
  const entries = codes.map((code) => [code, errorKinds[code]] as const).sort(([, a], [, b]) => a.error - b.error);
  for (const [status, kinds] of Map.groupBy(entries, ([, kind]) => kind.status)) {
    const examples = kinds.map(([code, { error, message }]) => [code, { value: { error, message } }]);
    const headers = new Set(kinds.flatMap(([, kind]) => Object.keys(kind.headers ?? {})));
    responses[status] = {
      description: kinds.map(([code, { error }]) => `${error} ${code.replaceAll('_', ' ')}`).join(', '),
      ...(headers.size > 0 && {
        headers: Object.fromEntries([...headers].map((name) => [name, { schema: { type: 'string' } }])),
      }),
      content: {
        'application/json': {
          schema: { allOf: [reference(ErrorBody), numbered(kinds.map(([, { error }]) => error))] },
          examples: Object.fromEntries(examples),
        },
      },
    };
  }
  return responses;
}

function numbered(errors: readonly number[]): object {
  const error = { type: 'integer', enum: errors, examples: errors.slice(0, 1) };
  return { type: 'object', properties: { error }, required: ['error'] };
}

function json(schema: object): object {
  return { 'application/json': { schema: reference(schema) } };
}

function reference(schema: object): object {
  return { $ref: `#/components/schemas/${titleOf(schema)}` };
}

function titleOf(schema: object): string {
  if ('title' in schema && typeof schema.title === 'string') return schema.title;
  throw new TypeError('a schema of the wire contract needs a title');
}
