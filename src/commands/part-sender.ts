import { setTimeout as delay } from 'node:timers/promises';
import type { Static } from 'typebox';
import { say } from '../process/say.ts';
import type { ErrorBody, ImportResult } from '../wire/schemas.ts';
import type { Send } from './send-list.ts';
import type { serviceAddress } from './service-address.ts';

/** Milliseconds for which a part is sent again. */
const PATIENCE = 60_000;

export const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

/**
 * Sends parts of a list to the service, and again for a while if that may help.
 *
 * @param type the media type of the list
 * @param stop when it is aborted, no part is sent again
 */
export function partSender({ url, token }: ReturnType<typeof serviceAddress>, type: string, stop: AbortSignal): Send {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };

  async function post(...[query, body]: Parameters<Send>) {
    const signal = AbortSignal.timeout(PATIENCE);
    const target = `${url}/import?${new URLSearchParams(query)}`;
    const response = await fetch(target, { method: 'POST', redirect: 'error', headers, body, signal });
    return { status: response.status, text: await response.text() };
  }

  return async (...part) => {
    for (let start = 0; ; await delay(1_000)) {
      const { status, text } = await post(...part).catch((error) => ({ status: 503, text: `${error.cause ?? error}` }));
      const answer = answerOf(text);
      if (status === 200 && isResult(answer)) return answer;
      const { error, message = `${status} ${text.slice(0, 200)}` } = answer;
      if (status === 413 || error === 40013) return undefined;
      if (status < 300) throw new Error(`${url} is not a Plant Store: it answers ${message}`);
      if (isDefinite(status)) throw new Error(error === undefined ? `${url}: ${message}` : message);
      if (start === 0) say(`${url} cannot be used now (${message}): trying again for a minute`);
      start ||= performance.now();
      if (stop.aborted || performance.now() - start > PATIENCE) throw new Error(`${url}: ${message}. ${RUN_AGAIN}`);
    }
  };
}

type Result = Static<typeof ImportResult>;
type Answer = Partial<Result & Static<typeof ErrorBody>>;

/** What the service says; nothing if the text is not JSON, as that of a proxy may be. */
function answerOf(text: string): Answer {
  try {
    return JSON.parse(text, exactId) ?? {};
  } catch {
    return {};
  }
}

const isResult = (answer: Answer): answer is Result => answer.consumed !== undefined;

/** Whether the same request would get the same response again. */
const isDefinite = (status: number) => status === 501 || (status < 500 && status !== 408 && status !== 429);

/** JSON.parse makes a number of an id, which loses digits. */
function exactId(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'id' && context?.source ? BigInt(context.source) : value;
}
