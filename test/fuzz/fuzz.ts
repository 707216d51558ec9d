import fc from 'fast-check';
import { type RawResponse, responsesTo } from '../support/http-bytes.ts';
import { contractOf } from './contract.ts';
import { type Request, requests } from './requests.ts';

export interface FuzzOptions {
  readonly url: string;
  readonly token: string;
  /** Runs a statement in the service's database, past the service. */
  readonly query: (text: string) => Promise<Record<string, string | null>[]>;
  readonly requests: number;
  readonly seed: number;
  readonly onProgress?: (sent: number) => void;
}

/** Sent at once. */
const BATCH = 40;
const BATCHES = 25;

/**
 * Sends generated requests to a running service that nobody else uses, and empties its table again and again.
 *
 * @returns how many were sent and how often each answer came
 * @throws Error with the seed and the smallest requests that show the fault
 */
export async function fuzz(options: FuzzOptions): Promise<{ sent: number; answers: ReadonlyMap<string, number> }> {
  const { url, token, query, onProgress } = options;
  const { create, change, faultOf } = await contractOf(url);
  const answers = new Map<string, number>();
  let sent = 0;
  async function exchange(request: Request): Promise<string[]> {
    sent++;
    const received = await answersTo(url, request);
    for (const { status, body } of received) {
      const kind = `${status} ${/"error":(\d+)/.exec(body)?.[1] ?? ''}`.trim();
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
    }
    const missing = received.length === 0 && !request.isSpoilt ? ['no answer'] : [];
    const faults = [...missing, ...received.flatMap((answer) => faultOf(answer) ?? [])];
    return faults.map((fault) => `${fault}\n  ${JSON.stringify(request.bytes.toString('latin1'))}`);
  }

  const batches = fc.array(requests(create, change, token), { minLength: 1, maxLength: BATCH, size: 'max' });
  const property = fc.asyncProperty(batches, async (batch) => {
    await query('delete from plants');
    await query(
      `insert into plants (id, name) select n, 'plant ' || n from generate_series(0, 9) as n on conflict do nothing`,
    );
    const faults = (await Promise.all(batch.map(exchange))).flat();
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  for (let seed = options.seed; sent < options.requests; seed++) {
    await fc.assert(property, { seed, numRuns: BATCHES });
    onProgress?.(sent);
  }
  return { sent, answers };
}

/** Milliseconds to wait for the answer to what may be a part of a request, and for one that was late to be sent again. */
const PATIENCE = { first: 500, second: 20_000 };

/** A client that closes its side may lose an answer that was on its way, and sends its request again. */
async function answersTo(url: string, { bytes, isSpoilt }: Request): Promise<RawResponse[]> {
  const answers = await responsesTo(url, bytes, PATIENCE.first);
  return answers.length > 0 || isSpoilt ? answers : responsesTo(url, bytes, PATIENCE.second);
}
