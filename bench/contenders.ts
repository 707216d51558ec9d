import { plantStore, type ServerProgram } from '../tooling/server-process.ts';

export type ContenderKey = 'ours' | 'fastify' | 'go' | 'single' | 'bare';

/** In the order in which they take their turns. */
export const contenders: Readonly<Record<ContenderKey, ServerProgram>> = {
  ours: plantStore,
  fastify: { title: 'Fastify + pg', script: 'bench/contenders/fastify-pg.ts', stores: true },
  // Built from Go's source: see go-program.ts.
  go: { title: 'Go net/http + pgx', script: 'bench/contenders/go-pgx/main.go', stores: true },
  single: { ...plantStore, title: 'Plant Store, batches of one', environment: { BATCH_ROWS: '1' } },
  bare: { title: 'bare node:http, no store', script: 'bench/contenders/bare-http.ts', stores: false },
};

/** Not a contender: what the load generator reaches here is its own ceiling. */
export const cannedAnswer: ServerProgram = {
  title: 'canned answer',
  script: 'bench/contenders/canned-answer.ts',
  stores: false,
};
