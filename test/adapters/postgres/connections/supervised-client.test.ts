import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import type { ClientBase, QueryResult } from 'pg';
import { supervised } from '../../../../src/adapters/postgres/connections/supervised-client.ts';

/* A statement whose response is late, while asking whether it may be abandoned takes long as well. */

/** Milliseconds. */
const DEADLINE = 5;

/** A statement in progress, with a server that responds when it is told to. */
function slowStatement() {
  const response = Promise.withResolvers<QueryResult>();
  const asked = Promise.withResolvers<() => boolean>();
  const verdict = Promise.withResolvers<void>();
  let questions = 0;
  let abandoned = 0;
  const client = Object.assign(new EventEmitter(), {
    query: (_query: unknown, done: (error: unknown, result?: QueryResult) => void) =>
      response.promise.then((result) => done(null, result), done),
  }) as unknown as ClientBase;
  const statement = supervised(
    client,
    { backend: 1, isDirect: true },
    {
      mayPrepare: true,
      deadline: DEADLINE,
      async tryAbandon(_backend, isWaiting) {
        questions++;
        asked.resolve(isWaiting);
        await verdict.promise;
        if (isWaiting()) abandoned++;
        return isWaiting();
      },
      invalidateOpenedBefore() {},
    },
  ).executeQuery(CompiledQuery.raw('select'));
  return {
    statement,
    asked: asked.promise,
    respond: () => response.resolve({ rows: ['late'] } as unknown as QueryResult),
    allow: () => verdict.resolve(),
    counts: () => ({ questions, abandoned }),
  };
}

/** So many deadlines, as the timers of this process count. */
const deadlines = (count: number) =>
  new Promise<void>((resolve) => {
    let left = count;
    const timer = setInterval(() => {
      left--;
      if (left > 0) return;
      clearInterval(timer);
      resolve();
    }, DEADLINE);
  });

test('is abandoned once, however long the question takes', async () => {
  const { statement, asked, allow, counts } = slowStatement();
  await asked;
  await deadlines(4);
  allow();
  await expect(statement).rejects.toMatchObject({ reason: 'no_response' });
  expect(counts()).toEqual({ questions: 1, abandoned: 1 });
});

test('is not abandoned if its response comes while that is asked', async () => {
  const { statement, asked, respond, allow, counts } = slowStatement();
  await asked;
  respond();
  expect(await statement).toEqual({ rows: ['late'] });
  allow();
  await deadlines(2);
  expect(counts()).toEqual({ questions: 1, abandoned: 0 });
});
