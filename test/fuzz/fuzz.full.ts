import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { TOKEN } from '../support/api-server.ts';
import { startWith } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';
import { fuzz } from './fuzz.ts';

/* The short form of `npm run test:fuzz`. */

test('keeps to its document, whatever comes', async () => {
  const { url: DATABASE_URL, query } = await migratedDatabase();
  const { apiUrl: url } = await startWith({ DATABASE_URL });
  const seed = randomInt(1, 2 ** 31 - 1_000_000);
  const { answers } = await fuzz({ url, token: TOKEN, query, requests: 2_000, seed });
  // Every kind of request has been among them.
  expect([...answers.keys()]).toEqual(
    expect.arrayContaining(['200', '204', '304', '400 40000', '400 40001', '400 40022', '406 40600', '412 41200']),
  );
});
