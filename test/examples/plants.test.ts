import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { post, startApiServer } from '../support/api-server.ts';

const lines = readFileSync(join(import.meta.dirname, '../../examples/plants.ndjson'), 'utf8')
  .trimEnd()
  .split('\n');

/** JSON.parse alone would round the larger ones. */
const ids = lines.map((line) => BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? Number.NaN));

test('the examples are many plants, with ids of their own over the whole of int64', () => {
  expect(lines.length).toBeGreaterThanOrEqual(100);
  expect(new Set(ids).size).toBe(lines.length);
  expect(ids).toEqual(expect.arrayContaining([-(2n ** 63n), 0n, 2n ** 53n + 1n, 2n ** 63n - 1n]));
});

test('the service takes each of them, and all of them again', async () => {
  const server = await startApiServer();
  for (const line of [...lines, ...lines]) {
    const answer = await post(server.url, line);
    const { id: _, ...plant } = JSON.parse(line);
    expect([answer.status, await answer.json()]).toEqual([200, plant]);
  }
});
