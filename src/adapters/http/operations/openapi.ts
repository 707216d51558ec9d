import { ErrorBody } from '../../../wire/schemas.ts';
import { errorResponses } from './openapi-errors.ts';
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
        responses: { ...successResponses(response), ...errorResponses(operation) },
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

const bearerAuth = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token of this service. If none is configured, `npm start` prints it and keeps it in ' +
    '`data/access-token`; otherwise the operator of this service has it.',
};

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
