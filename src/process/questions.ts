import type { ChildProcess } from 'node:child_process';

/* Questions of a primary process and the answers of its workers, over the channel that Node.js opens between them. */

interface Question {
  readonly id: number;
  readonly question: string;
  readonly argument: unknown;
}

/** With `answer`, or with why there is none. */
interface Reply {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string;
}

/** Resolves to a worker's answer. Rejects, saying why, if it has none, or ends before. */
export type Ask = (question: string, argument?: unknown) => Promise<unknown>;

/**
 * The primary's side.
 *
 * @param ended resolves to how the worker has ended, in words, after all that it has sent
 */
export function questionsTo(worker: ChildProcess, ended: Promise<string>): Ask {
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  let end: Error | undefined;
  worker.on('message', ({ id, answer, error }: Reply) => {
    if (error === undefined) pending.get(id)?.resolve(answer);
    else pending.get(id)?.reject(new Error(error));
    pending.delete(id);
  });
  void ended.then((how) => {
    end = new Error(`it ${how}`);
    for (const { reject } of pending.values()) reject(end);
    pending.clear();
  });

  return async (question, argument) => {
    if (end !== undefined) throw end;
    const id = ++asked;
    const reply = Promise.withResolvers<unknown>();
    pending.set(id, reply);
    // Should that fail, the channel closes.
    worker.send({ id, question, argument } satisfies Question, () => {});
    return reply.promise;
  };
}

/** The worker's side: answers each question by the function of that name. */
export function answerQuestions(answers: Readonly<Record<string, (argument: unknown) => Promise<unknown>>>): void {
  process.on('message', async ({ id, question, argument }: Question) => {
    tell(await reply(id, async () => answers[question]?.(argument)));
  });
}

async function reply(id: number, answer: () => Promise<unknown>): Promise<Reply> {
  try {
    return { id, answer: await answer() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Sends the primary a message, if it is still there; resolves once that is sent. */
export function tell(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, () => resolve());
  });
}
