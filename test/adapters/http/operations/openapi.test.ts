import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { openApiDocument } from '../../../../src/adapters/http/operations/openapi.ts';
import { plantOperations } from '../../../../src/adapters/http/operations/plant-operations.ts';
import { errorKinds } from '../../../../src/adapters/http/pipeline/errors.ts';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import { useCases } from '../../../../src/application/use-cases.ts';
import { startApiServer } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';

/*
 * The document is pinned by test/golden/openapi.json, so that no change of the contract goes unseen. A change that is
 * meant is written there by `UPDATE_GOLDEN=1 npm test -- openapi`; review its diff before you commit it.
 */
const golden = join(import.meta.dirname, '../../../golden/openapi.json');

interface Document {
  servers: { url: string }[];
  security: object[];
  paths: { '/plants': { post: { responses: Record<string, ErrorResponse> } } };
  components: { securitySchemes: object; schemas: { NewPlant: { properties: object; required: string[] } } };
}
interface ErrorResponse {
  content: {
    'application/json': {
      schema: { allOf?: [object, { properties: { error: { enum: number[] } } }] };
      examples?: Record<string, { value: { error: number; message: string } }>;
    };
  };
}

let server: HttpServer;
let document: Document;
beforeAll(async () => {
  server = await startApiServer();
  // Without a token: the document is no operation.
  const answer = await fetch(`${server.url}/openapi.json`);
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'application/json']);
  document = (await answer.json()) as Document;
});
afterAll(() => server.close(0));

test('is the golden document', () => {
  const fixed = { ...document, servers: [{ url: 'https://plants.example' }] };
  if (process.env.UPDATE_GOLDEN) writeFileSync(golden, `${JSON.stringify(fixed, null, 2)}\n`);
  expect(fixed).toEqual(JSON.parse(readFileSync(golden, 'utf8')));
});

test('is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  expect(await validator.validate(structuredClone({ ...document }))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

/** Rules of the linter that the contract contradicts. */
const contradicted = {
  // An error is the contract's Error as application/json, no problem of RFC 9457.
  'operation-4xx-problem-details-rfc7807': 'off',
  // An empty text is a valid name.
  'required-string-property-missing-min-length': 'off',
  // Who runs the service is not known here.
  'info-contact': 'off',
} as const;

test('satisfies every other rule of the linter', async () => {
  const config = await createConfig({ extends: ['all'], rules: contradicted });
  const source = readFileSync(golden, 'utf8');
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer }))).toEqual([]);
});

test('names the public address as its server', () => {
  expect(document.servers).toEqual([{ url: server.url }]);
  const operations = plantOperations(useCases(fakePlants()));
  for (const address of ['https://plants.example/garden', 'https://plants.example/garden/']) {
    expect(openApiDocument(operations, address)).toMatchObject({ servers: [{ url: 'https://plants.example/garden' }] });
  }
});

test('asks for the bearer token everywhere', () => {
  expect(document.security).toEqual([{ bearerAuth: [] }]);
  expect(document.components.securitySchemes).toMatchObject({ bearerAuth: { type: 'http', scheme: 'bearer' } });
  expect(document.paths['/plants'].post).not.toHaveProperty('security');
});

test('says that the id is an int64', () => {
  const { properties, required } = document.components.schemas.NewPlant;
  expect(properties).toHaveProperty('id', expect.objectContaining({ type: 'integer', format: 'int64' }));
  expect(required).toEqual(['id', 'name']);
});

const NOT_OF_AN_OPERATION = ['path_not_found', 'method_not_allowed', 'overloaded', 'token_unverifiable'];
const documented = Object.entries(errorKinds).filter(([code]) => !NOT_OF_AN_OPERATION.includes(code));

test.each(documented)('shows %s as an example under its status', (code, { status, error, message }) => {
  const { examples, schema } = document.paths['/plants'].post.responses[status]?.content['application/json'] ?? {};
  expect(examples?.[code]).toEqual({ value: { error, message } });
  expect(schema?.allOf?.[1].properties.error.enum).toContain(error);
});

test('documents for an operation what can become of it, and no more', () => {
  const { responses } = document.paths['/plants'].post;
  expect(Object.keys(responses)).toEqual(['200', '400', '401', '408', '417', '431', '500', '503']);
});
