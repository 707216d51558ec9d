import { plantStore, type ServerProgram } from '../tooling/server-process.ts';

export type ContenderKey = 'ours' | 'fastify' | 'single' | 'instant' | 'together' | 'bare';

/** In the order in which they take their turns. */
export const contenders: Readonly<Record<ContenderKey, ServerProgram>> = {
  ours: plantStore,
  fastify: { title: 'Fastify + pg', script: 'bench/contenders/fastify-pg.ts', stores: true },
  single: {
    title: 'Plant Store, batches of one',
    script: 'src/main.ts',
    environment: { BATCH_ROWS: '1' },
    stores: true,
  },
  instant: { title: 'Plant Store, instant store', script: 'bench/contenders/instant-store.ts', stores: false },
  together: {
    title: 'Plant Store, instant store, answers together',
    script: 'bench/contenders/instant-store.ts',
    environment: { ANSWERS: 'together' },
    stores: false,
  },
  bare: { title: 'bare node:http, no store', script: 'bench/contenders/bare-http.ts', stores: false },
};

/** Not a contender: what the load generator reaches here is its own ceiling. */
export const cannedAnswer: ServerProgram = {
  title: 'canned answer',
  script: 'bench/contenders/canned-answer.ts',
  stores: false,
};
