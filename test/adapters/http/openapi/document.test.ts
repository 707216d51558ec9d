import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { startApiServer } from '../../../support/api-server.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

/*
 * The document is pinned by test/golden/openapi.json, so that no change of the contract goes unseen. A change that is
 * meant is written there by `UPDATE_GOLDEN=1 npm test -- openapi`; review its diff before you commit it.
 */
const golden = join(import.meta.dirname, '../../../golden/openapi.json');

interface Schema {
  format?: string;
  description?: string;
}
interface Document {
  servers: { url: string }[];
  paths: Record<string, Record<string, { parameters?: { description: string; schema: Schema }[] }>>;
  components: { schemas: Record<string, { properties?: Record<string, Schema> }> };
}

const server = forAllTests(() => startApiServer());
let document: Document;
beforeAll(async () => {
  // Without a token: the document is no operation.
  const answer = await fetch(`${server.url}/openapi.json`);
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'application/json']);
  document = (await answer.json()) as Document;
});

test('is the golden document', () => {
  const fixed = { ...document, servers: [{ url: 'https://plants.example' }] };
  if (process.env.UPDATE_GOLDEN) writeFileSync(golden, `${JSON.stringify(fixed, null, 2)}\n`);
  expect(fixed).toEqual(JSON.parse(readFileSync(golden, 'utf8')));
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
  for (const [name, { format }] of named) if (format === 'int64') expect(name).toBe('id');
  const members = named.map(([, schema]) => schema);
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const parameters = operations.flatMap(({ parameters = [] }) =>
    parameters.map(({ description, schema }) => ({ ...schema, description })),
  );
  const ids = [...members, ...parameters].filter(({ format }) => format === 'int64');
  // To be raised with a new one, so that none is left out.
  expect(ids).toHaveLength(9);
  for (const { description } of ids) expect(description).toMatch(/^\w.*\. Every digit counts: .* 9007199254740991, /);
});
