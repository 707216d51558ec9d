import { ErrorBody } from '../../../wire/schemas.ts';
import { type AnyErrorCode, errorKinds } from '../pipeline/errors.ts';
import type { Operation } from './operation.ts';
import type { Parameter } from './parameters.ts';

/** The OpenAPI 3.1.0 document of the operations, generated from the schemas that validate requests. */
export function openApiDocument(operations: readonly Operation[], baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const schemas: Record<string, object> = {};
  const tags = new Set<Operation['tag']>();
  for (const operation of operations) {
    const { method, path, operationId, tag, summary, description, requestBody, response } = operation;
    tags.add(tag);
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        operationId,
        tags: [tag.name],
        summary,
        description,
        ...parametersOf(operation),
        ...(requestBody && {
          requestBody: { required: true, content: contentOf({ 'application/json': requestBody }) },
        }),
        responses: { ...successResponses(response), ...errorResponses(errorsOf(operation)) },
      },
    };
    const used = [...(requestBody ? [requestBody] : []), ...Object.values(response.content), ErrorBody];
    for (const schema of used) schemas[titleOf(schema)] = referring(schema);
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

function parametersOf({ parameters = [], query = [] }: Operation): object {
  const described = (place: 'path' | 'query') => (parameter: Parameter<unknown>) => ({
    name: parameter.name,
    in: place,
    required: place === 'path',
    description: parameter.mustBe,
    schema: parameter.schema,
  });
  const all = [...parameters.map(described('path')), ...query.map(described('query'))];
  return all.length > 0 ? { parameters: all } : {};
}

function successResponses({ content, headers }: Operation['response']): Record<number, object> {
  const [schema] = Object.values(content);
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  const documented = described.length > 0 && { headers: Object.fromEntries(described) };
  return {
    200: { description: `${titleOf(schema ?? {})} response`, ...documented, content: contentOf(content) },
    ...('ETag' in headers && { 304: { description: 'the record is still the one of If-None-Match', ...documented } }),
  };
}

/** The errors of every request, and those of every request with a body. */
const ANY_REQUEST = [
  'malformed_request',
  'token_missing',
  'token_refused',
  'insufficient_scope',
  'request_too_slow',
  'expectation_failed',
  'headers_too_large',
  'unexpected',
  'store_unavailable',
  'overloaded',
  'token_unverifiable',
] as const;
const ANY_BODY = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'invalid_plant'] as const;

function errorsOf({ requestBody, parameters, query, errors }: Operation): AnyErrorCode[] {
  const invalid = parameters || query ? (['invalid_plant'] as const) : [];
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
  const error = { type: 'integer', enum: [...new Set(errors)], examples: errors.slice(0, 1) };
  return { type: 'object', properties: { error }, required: ['error'] };
}

function contentOf(schemas: Readonly<Record<string, object>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: reference(schema) }]));
}

/** The schema, with a reference in place of the items of an array. */
function referring(schema: object): object {
  return 'items' in schema ? { ...schema, items: reference(schema.items as object) } : schema;
}

function reference(schema: object): object {
  return { $ref: `#/components/schemas/${titleOf(schema)}` };
}

function titleOf(schema: object): string {
  if ('title' in schema && typeof schema.title === 'string') return schema.title;
  throw new TypeError('a schema of the wire contract needs a title');
}
