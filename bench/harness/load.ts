import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TOKEN } from '../../tooling/server-process.ts';

/** Where `{id}` is a random one of the stored ids, `{next}` one after another from 1 on, `{tag}` below 100. */
const requests = {
  create: 'POST /plants',
  change: 'PUT /plants/{next}',
  delete: 'DELETE /plants/{next}',
  plant: 'GET /plants/{id}',
  page: 'GET /plants?limit=100&after={id}',
  taggedPage: 'GET /plants?limit=100&after={id}&tag=tag+{tag}',
} as const;

export interface Load {
  /** A POST and a PUT have a random plant as their body. Creates unless given. */
  readonly request?: keyof typeof requests | `GET ${string}`;
  /** How many plants are stored, with ids from 1. */
  readonly plants?: number;
  readonly connections: number;
  /** The first half of the first one is for opening the connections. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

export interface LoadResult {
  /** Answers of 200 and 204. */
  readonly answers: number;
  /** Other answers, and connections that failed. */
  readonly failures: number;
  /** Without those of opening the connections. */
  readonly seconds: number;
  /** Milliseconds, corrected for coordinated omission: a stall counts for the requests it held up, too. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Sends requests over kept-alive connections, each its next one as soon as the last is answered.
 *
 * @throws Error if not one is answered with 200 or 204
 */
export async function runLoad(
  url: string,
  { request = 'create', plants = 0, connections, seconds, signal }: Load,
): Promise<LoadResult> {
  const line = request in requests ? requests[request as keyof typeof requests] : request;
  // A quarter of the cores at most: the rest is for the server and the database.
  const threads = Math.min(connections, Math.max(1, Math.floor(availableParallelism() / 4)));
  const seeds = Array.from({ length: threads }, () => String(randomInt(2 ** 47)));
  const here = (file: string) => join(import.meta.dirname, file);
  const options = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '--timeout=10s', `-s${here('wrk.lua')}`];
  const script = [here('plants.txt'), TOKEN, line, `${plants}`, ...seeds];
  const { stdout } = await promisify(execFile)('wrk', [...options, url, '--', ...script], { signal }).catch((error) => {
    throw error.code === 'ENOENT' ? new Error('the benches need wrk (https://github.com/wg/wrk)') : error;
  });
  const result: LoadResult = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  if (result.answers === 0) throw new Error(`${url} has not answered a single request with 200 or 204`);
  return result;
}
