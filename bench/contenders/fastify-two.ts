import cluster from 'node:cluster';
import { join } from 'node:path';

/* Fastify + pg in two processes, as Node's documentation recommends, with half of the connections for each. */

cluster.setupPrimary({ exec: join(import.meta.dirname, 'fastify-pg.ts') });
for (let n = 0; n < 2; n++) cluster.fork({ POOL_SIZE: '5' });
