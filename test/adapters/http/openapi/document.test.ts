import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { errorKinds } from '../../../../src/adapters/http/errors.ts';
import { startApiServer } from '../../../support/api-server.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

/*
 * The document is pinned by test/golden/openapi.json, so that no change of the contract goes unseen. A change that is
 * meant is written there by `UPDATE_GOLDEN=1 npm test -- openapi`; review its diff before you commit it.
 */
const golden = join(import.meta.dirname, '../../../golden/openapi.json');

interface Document {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: {
    schemas: Record<string, { properties?: Record<string, Member>; required?: string[] }>;
    responses: { Error: { description: string } };
  };
}
interface Member {
  type: string;
  format?: string;
  description: string;
}
interface DocumentedOperation {
  operationId: string;
  parameters?: { name: string; in: string; example?: unknown; description: string; schema: { examples?: unknown } }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { $ref?: string }>;
}

const server = forAllTests(() => startApiServer());
let document: Document;
beforeAll(async () => {
  // Without a token: the document is no operation.
  const answer = await fetch(`${server.url}/openapi.json`);
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'application/json']);
  document = (await answer.json()) as Document;
});

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path));

test('is the golden document', () => {
  const fixed = { ...document, servers: [{ url: 'https://plants.example' }] };
  if (process.env.UPDATE_GOLDEN) writeFileSync(golden, `${JSON.stringify(fixed, null, 2)}\n`);
  expect(fixed).toEqual(JSON.parse(readFileSync(golden, 'utf8')));
});

test('has the figures of the contract, whatever version the program has', () => {
  const { openapi, info, paths, components } = document;
  expect([openapi, info.version]).toEqual(['3.1.0', '1.0.0']);
  expect(Object.keys(paths['/plants']?.post?.responses ?? {})).toEqual(expect.arrayContaining(['200', '400']));
  const shapes = Object.entries({
    NewPlant: ['id* integer int64', 'name* string', 'tag string'],
    Plant: ['name* string', 'tag string'],
    Error: ['error* integer int32', 'message* string'],
  });
  for (const [title, members] of shapes) {
    const { properties = {}, required = [] } = components.schemas[title] ?? {};
    const shape = Object.entries(properties).map(([name, { type, format }]) =>
      [name + (required.includes(name) ? '*' : ''), type, format].filter(Boolean).join(' '),
    );
    expect([title, shape]).toEqual([title, members]);
  }
});

/** Rules of the linter that the contract contradicts. */
const contradicted = {
  // An error is the contract's Error as application/json, no problem of RFC 9457.
  'operation-4xx-problem-details-rfc7807': 'off',
  // An empty text is a valid name.
  'required-string-property-missing-min-length': 'off',
  // It takes the name of the webhook, which public plant stores share, for a path.
  'paths-kebab-case': 'off',
  // A list can be a stream of lines.
  'request-mime-type': {
    severity: 'error',
    allowedValues: [
      'application/json',
      'application/x-ndjson',
      'application/jsonl',
      'text/csv',
      'text/tab-separated-values',
    ],
  },
  // An import is one, a count too, and its flags read like those of commands.
  'path-segment-plural': 'off',
  'boolean-parameter-prefixes': 'off',
  'response-mime-type': {
    severity: 'error',
    allowedValues: ['application/json', 'application/x-ndjson', 'text/csv'],
  },
} as const;

test('satisfies every other rule of the linter', async () => {
  const config = await createConfig({ extends: ['all'], rules: contradicted });
  const source = readFileSync(golden, 'utf8');
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  expect(problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer }))).toEqual([]);
});

test('names the public address as its server', async () => {
  expect(document.servers).toEqual([{ url: server.url }]);
  for (const baseUrl of ['https://plants.example/garden', 'https://plants.example/garden/']) {
    const { url } = await startApiServer({ baseUrl: () => baseUrl });
    const { servers } = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
    expect(servers).toEqual([{ url: 'https://plants.example/garden' }]);
  }
});

test('warns at every id of clients that round it', () => {
  const named = Object.values(document.components.schemas).flatMap(({ properties = {} }) => Object.entries(properties));
  // Clients keep the digits of members with this name only (examples, page).
  for (const [name, schema] of named) if ('format' in schema && schema.format === 'int64') expect(name).toBe('id');
  const members = named.map(([, schema]) => schema);
  const parameters = operations().flatMap(({ parameters = [] }) =>
    parameters.map(({ description, schema }) => ({ ...schema, description })),
  );
  const ids = [...members, ...parameters].filter((schema) => 'format' in schema && schema.format === 'int64');
  // To be raised with a new one, so that none is left out.
  expect(ids).toHaveLength(9);
  for (const { description } of ids) expect(description).toMatch(/^\w.*\. Every digit counts: .* 9007199254740991, /);
});

test('has one response for every error', () => {
  const { description } = document.components.responses.Error;
  for (const { error } of Object.values(errorKinds))
    expect(description.match(new RegExp(`\\b${error} [a-z]`, 'g'))).toHaveLength(1);
});
