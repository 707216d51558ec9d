import Type from 'typebox';
import { fieldRules } from '../../../domain/plant.ts';
import { errorKinds } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Parameter } from '../operations/parameters.ts';
import { webhooks } from './webhooks.ts';

/** The OpenAPI 3.1.0 document of the operations, generated from the schemas that validate requests. */
export function openApiDocument(operations: readonly Operation[], baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { method, path, operationId, group, summary, description, body } = operation;
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        operationId,
        tags: [group.name],
        summary,
        description,
        // JSON leaves out members that are undefined.
        parameters: parametersOf(operation),
        requestBody: body && { required: true, content: contentOf(body.content) },
        responses: { ...successResponses(operation), ...errorResponses(operation) },
      },
    };
  }
  const schemas: Record<string, object> = {};
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      // The version of the contract; the program has its own.
      version: '1.0.0',
      description: 'Commits plants to SQL. 200 means committed, and sending the same request again is always safe.',
      // A service does not know who runs it.
      contact: { name: 'Those who run this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Paths begin with a slash.
    servers: [{ url: baseUrl.replace(/\/$/, '') }],
    security: [{ bearerAuth: [] }],
    tags: [...new Set(operations.map(({ group }) => group))],
    paths: withReferences(paths, schemas),
    webhooks,
    components: { securitySchemes: { bearerAuth }, responses: { Error: withReferences(error, schemas) }, schemas },
  };
}

/** A parameter or a header that is a text. */
const text = (description: string) => ({ description, schema: { type: 'string' } });

const preconditionHeaders = parametersIn('header', {
  'If-Match': text('the ETag, with its quotes, that the plant must still have, or several, or *'),
  'If-None-Match': text('the ETag, with its quotes, that the plant must not have, or several, or * for any'),
});

function parametersOf({ parameters = {}, query = {}, isConditional }: Operation): object[] | undefined {
  const headers = isConditional ? preconditionHeaders : [];
  const all = [...parametersIn('path', parameters), ...parametersIn('query', query), ...headers];
  return all.length > 0 ? all : undefined;
}

type Documentation = Pick<Parameter<unknown>, 'description' | 'example' | 'schema'>;

function parametersIn(location: 'path' | 'query' | 'header', all: Readonly<Record<string, Documentation>>): object[] {
  return Object.entries(all).map(([name, { description, example, schema }]) => {
    return { name, in: location, required: location === 'path', description, example, schema };
  });
}

function successResponses({ method, response }: Operation): Record<number, object> {
  if (response === undefined) return { 204: { description: 'done' } };
  const isRead = method === 'GET';
  const allow = isRead && { Allow: 'what the token permits here: methods, separated by commas' };
  const all = Object.entries({ ...response.headers, ...allow }).map(([name, description]) => [name, text(description)]);
  const headers = all.length > 0 ? Object.fromEntries(all) : undefined;
  const [schema] = Object.values(response.content);
  return {
    200: { description: `${schema && titleOf(schema)} response`, headers, content: contentOf(response.content) },
    ...(isRead &&
      'ETag' in response.headers && { 304: { description: 'the record is still the one of If-None-Match', headers } }),
  };
}

/** Statuses that a request for any operation may get. */
const ANY_OPERATION = [400, 401, 403, 408, 417, 431, 500, 503];

function errorResponses({ method, statuses = [] }: Operation): Record<number, object> {
  const all = [...ANY_OPERATION, ...(method === 'GET' ? [406] : []), ...statuses];
  return Object.fromEntries(all.map((status) => [status, { $ref: '#/components/responses/Error' }]));
}

/** Codes share a number where clients cannot tell them apart. */
const codesByNumber = Map.groupBy(Object.entries(errorKinds), ([, { error }]) => error);
const numbers = [...codesByNumber].map(([error, [[code = ''] = []]]) => `${error} ${code.replaceAll('_', ' ')}`);

const ErrorBody = Type.Object(
  {
    error: Type.Integer({
      format: 'int32',
      description: 'the HTTP status followed by two digits that identify the error',
      examples: [40022],
    }),
    message: Type.String({
      description: 'what is wrong and how to fix it, for people',
      examples: [`name must be ${fieldRules.name}`],
    }),
  },
  { title: 'Error' },
);

/** Every error of every operation, in the one shape of the contract. */
const error = {
  description: `An error, by its number: ${numbers.join(', ')}. The number begins with the status.`,
  headers: {
    'WWW-Authenticate': text('with 401 and 403'),
    'Retry-After': text('with 503: seconds'),
  },
  content: { 'application/json': { schema: ErrorBody } },
};

const bearerAuth = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An access token of this service. If none is configured, `npm start` prints it and keeps it in ' +
    '`data/access-token`; otherwise the operator of this service has it.',
};

function contentOf(schemas: Readonly<Record<string, object>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]));
}

/** Ends the description of an id. The service cannot know which id a client has rounded. */
const EXACTNESS =
  '. Every digit counts: JavaScript rounds numbers above 9007199254740991, and a rounded id is that of another plant. ' +
  'Use a string or a bigint there (examples/README.md)';

/** A fragment of the document, in which schemas that have a title are references to these components. */
function withReferences(fragment: object, components: Record<string, object>): object {
  const replaceSchema = (_key: string, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const title = titleOf(value);
    if (value !== fragment && title !== undefined) {
      components[title] ??= withReferences(value, components);
      return { $ref: `#/components/schemas/${title}` };
    }
    const isId = isInt64('schema' in value ? Object(value.schema) : value);
    return isId && 'description' in value ? { ...value, description: `${value.description}${EXACTNESS}` } : value;
  };
  return JSON.parse(JSON.stringify(fragment, replaceSchema));
}

function titleOf(schema: object): string | undefined {
  return 'title' in schema && typeof schema.title === 'string' ? schema.title : undefined;
}

const isInt64 = (schema: object) => 'format' in schema && schema.format === 'int64';
