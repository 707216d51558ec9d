import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type RawResponse, responsesTo } from '../support/http-bytes.ts';
import { type Contract, contractOf } from './contract.ts';
import type { Meaning } from './meaning.ts';
import { otherRequests } from './other-requests.ts';
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

/** Sent at once, and checked against the table together. */
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
  const contract = await contractOf(url);
  const answers = new Map<string, number>();
  let sent = 0;
  async function exchange(batch: readonly Request[]): Promise<Exchanged[]> {
    sent += batch.length;
    const exchanges = await Promise.all(
      batch.map(async (request) => ({ request, answers: await answersTo(url, request) })),
    );
    for (const { status, body } of exchanges.flatMap(({ answers }) => answers)) {
      const kind = `${status} ${/"error":(\d+)/.exec(body)?.[1] ?? ''}`.trim();
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
    }
    return exchanges;
  }

  const size = { minLength: 1, maxLength: BATCH, size: 'max' } as const;
  const creating = fc.asyncProperty(fc.array(requests(contract.request, contract.path, token), size), async (batch) => {
    const exchanges = await exchange(batch);
    const rows = await query('delete from plants returning id::text, name, tag');
    const faults = faultsOf(contract, exchanges, rows as unknown as Meaning[]);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  const others = fc.asyncProperty(fc.array(otherRequests(contract.change, token), size), async (batch) => {
    await query(`insert into plants (id, name) select n, 'plant ' || n from generate_series(0, 9) as n`);
    const exchanges = await exchange(batch);
    await query('delete from plants');
    const faults = documentFaults(contract, exchanges);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  await query('delete from plants');
  for (let seed = options.seed; sent < options.requests; seed++) {
    await fc.assert(creating, { seed, numRuns: BATCHES });
    await fc.assert(others, { seed, numRuns: BATCHES });
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

interface Exchanged {
  readonly request: Request;
  readonly answers: readonly RawResponse[];
}

/** The answers that the document does not allow, and the requests without one. */
function documentFaults({ faultOf }: Contract, exchanges: readonly Exchanged[]): string[] {
  return exchanges.flatMap(({ request, answers }) => {
    const text = request.bytes.toString('latin1');
    const missing = answers.length === 0 && !request.isSpoilt ? ['no answer'] : [];
    const wrong = answers.flatMap((answer) => faultOf(answer) ?? []);
    return [...missing, ...wrong].map((fault) => `${fault}\n  ${JSON.stringify(text)}`);
  });
}

/** What breaks the contract in one batch, given the rows that it left in a table that was empty. */
function faultsOf(contract: Contract, exchanges: readonly Exchanged[], rows: readonly Meaning[]): string[] {
  const faults = documentFaults(contract, exchanges);
  const stored = new Map(rows.map((row) => [row.id, row]));
  /** The rows that no 200 accounts for so far. */
  const unexplained = new Set(rows);

  for (const { request, answers } of exchanges) {
    const wrong = (fault: string) => faults.push(`${fault}\n  ${JSON.stringify(request.bytes.toString('latin1'))}`);
    const { meaning } = request;
    if (meaning === 'open') {
      // Others are what became of a request whose method is a different one now.
      for (const { body } of answers.filter(({ status, body }) => status === 200 && /^\{"name"/.test(body))) {
        const same = rows.filter((row) => tells(body, row));
        if (same.length === 0) wrong(`200 ${body}, and no such row`);
        for (const row of same) unexplained.delete(row);
      }
      continue;
    }
    const got = answers.map(({ status, body }) => `${status} ${body}`).join(', ');
    const row = meaning && stored.get(meaning.id);
    if (row) {
      const isSame = row.name === meaning.name && row.tag === meaning.tag;
      if (isSame) unexplained.delete(row);
      const right = isSame
        ? answers.length === 1 && answers[0]?.status === 200 && tells(answers[0].body, row)
        : got.startsWith('400 {"error":40009,');
      if (!right) wrong(`${got}, and the table has ${JSON.stringify(row)}`);
    } else if (meaning || !/^400 \{"error":400(00|22),/.test(got)) {
      wrong(`${got}, and there is no row`);
    }
  }
  const unanswered = exchanges.filter(({ answers }) => answers.length === 0).length;
  for (const row of [...unexplained].slice(unanswered))
    faults.push(`a row that no answer accounts for: ${JSON.stringify(row)}`);
  return faults;
}

/** Whether this is the body of an answer of 200 that tells of this row. */
function tells(body: string, { name, tag }: Meaning): boolean {
  return isDeepStrictEqual(JSON.parse(body), tag === null ? { name } : { name, tag });
}
