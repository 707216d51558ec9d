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
        responses: { ...successResponses(operation), ...errorResponses(operation) },
      },
    };
    for (const schema of [requestBody, ...Object.values(response.content), ErrorBody]) {
      if (schema !== undefined) addComponent(schema, schemas);
    }
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

const ifMatchHeader = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'the ETag that the plant must still have, or several, or *',
  schema: { type: 'string' },
};

function parametersOf({ parameters = [], query = [], isConditional = false }: Operation): object {
  const described = (place: 'path' | 'query') => (parameter: Parameter<unknown>) => ({
    name: parameter.name,
    in: place,
    required: place === 'path',
    description: parameter.mustBe,
    schema: parameter.schema,
  });
  const all = [
    ...parameters.map(described('path')),
    ...query.map(described('query')),
    ...(isConditional ? [ifMatchHeader] : []),
  ];
  return all.length > 0 ? { parameters: all } : {};
}

function successResponses({ method, response: { content, headers } }: Operation): Record<number, object> {
  const [schema] = Object.values(content);
  if (schema === undefined) return { 204: { description: 'done' } };
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  const documented = described.length > 0 && { headers: Object.fromEntries(described) };
  return {
    200: { description: `${titleOf(schema)} response`, ...documented, content: contentOf(content) },
    ...(method === 'GET' &&
      'ETag' in headers && { 304: { description: 'the record is still the one of If-None-Match', ...documented } }),
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

/** Adds a schema to the components, and those with a title in it, which become references. */
function addComponent(schema: object, components: Record<string, object>): void {
  components[titleOf(schema)] = mapValues(schema, referring);

  function referring(part: unknown): unknown {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(referring);
    if (!isTitled(part)) return mapValues(part, referring);
    addComponent(part, components);
    return reference(part);
  }
}

function mapValues(object: object, map: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

function reference(schema: object): object {
  return { $ref: `#/components/schemas/${titleOf(schema)}` };
}

function isTitled(schema: object): schema is { readonly title: string } {
  return 'title' in schema && typeof schema.title === 'string';
}

function titleOf(schema: object): string {
  if (isTitled(schema)) return schema.title;
  throw new TypeError('a schema of the wire contract needs a title');
}
