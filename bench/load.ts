import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TOKEN } from '../tooling/server-process.ts';

const run = promisify(execFile);
const here = (file: string) => join(import.meta.dirname, file);
const [, wrkVersion] = /^wrk (\S+)/.exec(spawnSync('wrk', ['-v'], { encoding: 'utf8' }).stdout ?? '') ?? [];

/** Which load generator is used, for people. */
export const generator = wrkVersion === undefined ? 'bench/load-generator.ts' : `wrk ${wrkVersion}`;

export interface LoadResult {
  /** Answers of 200 and 204. */
  readonly answers: number;
  /** Other answers, and connections that failed. */
  readonly failures: number;
  /** Without those of opening the connections. */
  readonly seconds: number;
  /** Milliseconds. wrk corrects its own for coordinated omission: a stall counts for the requests it held up, too. */
  readonly p50: number;
  readonly p99: number;
}

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

/**
 * Sends requests over kept-alive connections, each its next one as soon as the last is answered.
 *
 * @throws Error if not one is answered with 200 or 204
 */
export async function runLoad(
  url: string,
  { request = 'create', plants: stored = 0, connections, seconds, signal }: Load,
): Promise<LoadResult> {
  const [line, plants] = [
    request in requests ? requests[request as keyof typeof requests] : request,
    here('plants.txt'),
  ];
  // A quarter of the cores at most: the rest is for the server and the database.
  const threads = Math.min(connections, Math.max(1, Math.floor(availableParallelism() / 4)));
  const seeds = Array.from({ length: threads }, () => String(randomInt(2 ** 47)));
  const wrk = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '--timeout=10s', `-s${here('wrk.lua')}`, url, '--'];
  const { stdout } =
    wrkVersion === undefined
      ? await run(
          process.execPath,
          [here('load-generator.ts'), url, `${connections}`, `${seconds}`, plants, TOKEN, line, `${stored}`],
          {
            signal,
          },
        )
      : await run('wrk', [...wrk, plants, TOKEN, line, `${stored}`, ...seeds], { signal });
  const result: LoadResult = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  if (result.answers === 0) throw new Error(`${url} has not answered a single request with 200 or 204`);
  return result;
}
