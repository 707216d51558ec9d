import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TOKEN } from '../support/api-server.ts';
import { type RawResponse, responsesTo } from '../support/http-bytes.ts';
import { startWith } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';
import { contractOf } from './contract.ts';
import { type Request, requests } from './requests.ts';

/* npm run test:fuzz sends 100,000 requests. A fault is reported with its seed and the smallest requests that show it. */

const { FUZZ_REQUESTS = '2000', FUZZ_SEED = `${randomInt(1, 2 ** 31 - 1_000_000)}` } = process.env;

/** Sent at once. */
const BATCH = 40;
const BATCHES = 25;

/** Milliseconds to wait for the answer to what may be a part of a request, and for one that was late to be sent again. */
const PATIENCE = { first: 500, second: 20_000 };

/** A client that closes its side may lose an answer that was on its way, and sends its request again. */
async function answersTo(url: string, { bytes, isSpoilt }: Request): Promise<RawResponse[]> {
  const answers = await responsesTo(url, bytes, PATIENCE.first);
  return answers.length > 0 || isSpoilt ? answers : responsesTo(url, bytes, PATIENCE.second);
}

test('keeps to its document, whatever comes', async () => {
  const { url: DATABASE_URL, query } = await migratedDatabase();
  const { apiUrl: url } = await startWith({ DATABASE_URL });
  const faultOf = await contractOf(url);
  const kinds = new Set<string>();
  let sent = 0;
  async function faultsOf(request: Request): Promise<string[]> {
    sent++;
    const answers = await answersTo(url, request);
    for (const { status, body } of answers) kinds.add(`${status} ${/"error":(\d+)/.exec(body)?.[1] ?? ''}`.trim());
    const missing = answers.length === 0 && !request.isSpoilt ? ['no answer'] : [];
    // A spoilt request may be two, and the second gets 503 while the first one is in progress.
    const others = answers.filter(({ status }, n) => n === 0 || status !== 503);
    const faults = [...missing, ...others.flatMap((answer) => faultOf(answer) ?? [])];
    return faults.map((fault) => `${fault}\n  ${JSON.stringify(request.bytes.toString('latin1'))}`);
  }

  const batches = fc.array(requests(TOKEN), { minLength: 1, maxLength: BATCH, size: 'max' });
  const property = fc.asyncProperty(batches, async (batch) => {
    await query('delete from plants');
    await query(
      `insert into plants (id, name) select n, 'plant ' || n from generate_series(0, 9) as n on conflict do nothing`,
    );
    const faults = (await Promise.all(batch.map(faultsOf))).flat();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  for (let seed = Number(FUZZ_SEED); sent < Number(FUZZ_REQUESTS); seed++) {
    await fc.assert(property, { seed, numRuns: BATCHES });
  }
  // Every kind of request has been among them.
  const expected = ['200', '204', '304', '400 40000', '400 40001', '400 40022', '406 40600', '412 41200'];
  expect([...kinds]).toEqual(expect.arrayContaining(expected));
}, 7_200_000);
