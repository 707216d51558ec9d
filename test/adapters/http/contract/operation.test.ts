import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Type from 'typebox';
import { jsonBody, noBody, operation } from '../../../../src/adapters/http/contract/operation.ts';
import type { Parameter } from '../../../../src/adapters/http/contract/parameters.ts';
import { cacheableResponse, jsonResponse } from '../../../../src/adapters/http/contract/responses.ts';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import { PlantStoreError } from '../../../../src/domain/errors.ts';
import { NewPlant, Plant } from '../../../../src/wire/schemas.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';

/* What an operation can be: here two that the contract does not have, one with a parameter, one with a body as well. */

const parsed: string[] = [];
const plantId: Parameter<bigint> = {
  description: 'the id of the plant',
  mustBe: 'an integer in its one spelling',
  schema: Type.Unsafe<bigint>({ type: 'integer', format: 'int64' }),
  parse(text) {
    parsed.push(text);
    return /^(0|-?[1-9]\d*)$/.test(text) ? BigInt(text) : undefined;
  },
};

const shared = { path: '/plants/{id}', tag: { name: 'Plants', description: '' }, summary: '', description: '' };
const find = operation({
  ...shared,
  operationId: 'findPlant',
  method: 'GET',
  permission: 'read',
  parameters: { id: plantId },
  body: noBody,
  response: cacheableResponse(NewPlant),
  errors: ['plant_not_found'],
  async handle({ path: { id } }) {
    if (id === 0n) throw new PlantStoreError('store_unavailable', 'not now');
    return { id, name: 'Acer' };
  },
});
const change = operation({
  ...shared,
  operationId: 'changePlant',
  method: 'PUT',
  permission: 'create',
  parameters: { id: plantId },
  body: jsonBody(Plant),
  response: jsonResponse(NewPlant),
  errors: [],
  handle: async ({ path: { id }, body }) => ({ id, ...body }),
});

const lines: string[] = [];
let server: HttpServer;
beforeAll(async () => {
  server = await startApiServer({ operations: [find, change], onLog: (line) => lines.push(line) });
});
afterAll(() => server.close(0));

async function send(method: string, path: string, body?: string): Promise<[number, string]> {
  const headers = { Authorization: `Bearer ${TOKEN}`, ...(body && { 'Content-Type': 'application/json' }) };
  const response = await fetch(server.url + path, { method, headers, ...(body && { body }) });
  return [response.status, await response.text()];
}

test('reads its parameter and writes an int64 with all of its digits', async () => {
  expect(await send('GET', '/plants/9007199254740993')).toEqual([200, '{"id":9007199254740993,"name":"Acer"}']);
  expect(await send('PUT', '/plants/-5', '{"name":"Ficus"}')).toEqual([200, '{"id":-5,"name":"Ficus"}']);
});

test('parses its parameter once', async () => {
  parsed.length = 0;
  await send('GET', '/plants/12');
  expect(parsed).toEqual(['12']);
});

test('refuses a parameter that breaks its rule, before the body', async () => {
  const refusal = '{"error":40022,"message":"id must be an integer in its one spelling"}';
  expect(await send('GET', '/plants/05')).toEqual([400, refusal]);
  expect(await send('PUT', '/plants/x', 'no JSON')).toEqual([400, refusal]);
});

test('fails with the errors that it documents', async () => {
  expect(await send('GET', '/plants/0')).toEqual([503, '{"error":50300,"message":"not now"}']);
});

test('is named in the log', async () => {
  await send('GET', '/plants/7');
  expect(lines.map((line) => JSON.parse(line)).at(-1)).toMatchObject({ operation: 'findPlant', path: '/plants/7' });
});
