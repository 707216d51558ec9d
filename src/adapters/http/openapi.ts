import { errorKinds } from './errors.ts';
import type { Operation } from './operation.ts';
import { ErrorBody } from './schemas.ts';

/** The OpenAPI 3.1.0 document of the operations, made of the schemas that validate them. */
export function openApiDocument(operations: readonly Operation[], baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const schemas: Record<string, object> = {};
  const tags = new Set<Operation['tag']>();
  for (const { method, path, operationId, tag, summary, description, request, response } of operations) {
    tags.add(tag);
    const errors = errorResponses();
    paths[path] = {
      ...paths[path],
      [method]: {
        operationId,
        tags: [tag.name],
        summary,
        description,
        requestBody: { required: true, content: json(request) },
        responses: { 200: { description: `${titleOf(response)} response`, content: json(response) }, ...errors },
      },
    };
    for (const schema of [request, response, ErrorBody]) schemas[titleOf(schema)] = schema;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: 'Commits plants to SQL. 200 means committed, and sending the same request again is always safe.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Paths begin with a slash of their own.
    servers: [{ url: baseUrl.replace(/\/$/, '') }],
    security: [{ bearerAuth: [] }],
    tags: [...tags],
    paths,
    components: { securitySchemes: { bearerAuth }, schemas },
  };
}

const bearerAuth = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token of this service. If none is configured, `npm start` prints it and keeps it in ' +
    '`data/access-token`; otherwise the operator of this service has it.',
};

/** One response for each status, with its error numbers as literals, so that generated types tell them apart. */
function errorResponses(): Record<number, object> {
  const responses: Record<number, object> = {};
  for (const [status, kinds] of Map.groupBy(Object.entries(errorKinds), ([, kind]) => kind.status)) {
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
