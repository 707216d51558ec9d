import { setTimeout } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import { exactJson, parseExactly } from './exact-json.ts';
import type { paths } from './plant-store.ts';

/* The service that PLANT_STORE_URL and PLANT_STORE_TOKEN name. */

const { PLANT_STORE_URL: url = 'http://127.0.0.1:3000', PLANT_STORE_TOKEN: token = '' } = process.env;

export function stop(message: string, code = 1): never {
  console.error(message);
  process.exit(code);
}

export function connect() {
  if (!/^[\w.~+/-]+=*$/.test(token)) {
    stop('PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token');
  }
  return createClient<paths>({
    baseUrl: url,
    headers: { Authorization: `Bearer ${token}` },
    bodySerializer: exactJson,
  });
}

/** The errors among the responses of an operation, one type for each number. */
export type Failures<Responses> = Responses extends unknown
  ? {
      [Status in Exclude<keyof Responses, 200>]: Responses[Status] extends {
        content: { 'application/json': infer Body };
      }
        ? Body
        : never;
    }[Exclude<keyof Responses, 200>]
  : never;

export interface Outcome<Data, Failure> {
  readonly data?: Data;
  readonly error?: Failure;
  readonly response: Response;
}

/**
 * Sends a request, up to 5 times if that can help, which is safe.
 *
 * @param remedyOf what to do about an error of the service
 * @throws Error that says what is wrong and what to do about it
 */
export async function send<Data, Failure extends { error: number; message: string }>(
  request: (signal: AbortSignal) => Promise<Outcome<Data, Failure>>,
  remedyOf: (error: Failure) => string,
): Promise<{ data: Data; response: Response }> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await request(AbortSignal.timeout(60_000)).catch((failure: Error) => {
      if (failure instanceof SyntaxError) throw notPlantStore();
      if (!isLostConnection(failure) || attempt === 5) throw unreachable(failure);
    });
    if (outcome?.data !== undefined) return { data: outcome.data, response: outcome.response };
    if (outcome !== undefined) {
      const { error, response } = outcome;
      const remedy = error?.error && remedyOf(error);
      if (!remedy) throw notPlantStore();
      if (remedy !== 'send it again' || attempt === 5) {
        throw new Error(
          `${error.error}: ${error.message} (${remedy}; request ${response.headers.get('X-Request-Id')})`,
        );
      }
    }
    await setTimeout(Number(outcome?.response.headers.get('Retry-After') ?? 1) * 1000);
  }
}

/** The outcome of a request with parseAs: 'text', its ids exact; openapi-fetch itself would use JSON.parse. */
export async function parsed<Data, Failure>(
  outcome: Promise<Outcome<string, Failure>>,
): Promise<Outcome<Data, Failure>> {
  const { data, ...others } = await outcome;
  return data === undefined ? others : { ...others, data: parseExactly(data) as Data };
}

/** What stands in front of the service has errors of its own. */
function notPlantStore(): Error {
  return new Error(`${url} does not respond as Plant Store does: is that its address?`);
}

/** Before the response, or in the middle of it: what has arrived is not all. */
function isLostConnection({ cause }: Error): boolean {
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  return ['UND_ERR_SOCKET', 'ECONNRESET'].includes(code);
}

/** fetch keeps the reason in the cause, which has no message if several addresses were tried. */
function unreachable(failure: Error): Error {
  const { message, code } = (failure.cause ?? failure) as NodeJS.ErrnoException;
  return new Error(`cannot reach ${url} (${message || code}): is the service running there?`);
}
