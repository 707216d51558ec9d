import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Fastify from 'fastify';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { staticTokens } from '../../src/adapters/auth/static-tokens.ts';
import { api } from '../../src/adapters/http/app.ts';
import { serve } from '../../src/adapters/http/server.ts';
import { prometheusMetrics } from '../../src/adapters/metrics/metrics.ts';
import { useCases } from '../../src/application/use-cases.ts';
import { createLog } from '../../src/bootstrap/log.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../../test/support/fake-plants.ts';
import { TOKEN } from '../../tooling/server-process.ts';
import { bareHttp, KEEP_ALIVE } from './bare-http.ts';

/* Servers that store nothing: what reading a create, checking it and responding costs. Each resolves to its URL. */

type PlantBody = Omit<NewPlant, 'id'> & { readonly id: number };

/** Koa, its router and its body parser as their documentation uses them, and nothing else. */
async function koaFloor(): Promise<string> {
  const router = new Router();
  router.post('/plants', (ctx) => {
    const { id, name, tag } = ctx.request.body as Partial<PlantBody>;
    if (typeof id === 'number' && typeof name === 'string') ctx.body = { name, tag };
    else ctx.status = 400;
  });
  const app = new Koa().use(bodyParser()).use(router.routes()).use(router.allowedMethods());
  const server = app.listen(0, '127.0.0.1');
  server.keepAliveTimeout = KEEP_ALIVE;
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** With schemas, as its documentation recommends. */
async function fastify({ hasLogAndToken }: { readonly hasLogAndToken: boolean }): Promise<string> {
  const app = Fastify({ logger: hasLogAndToken });
  const [name, tag] = [{ type: 'string' }, { type: 'string' }];
  const schema = {
    body: { type: 'object', properties: { id: { type: 'integer' }, name, tag }, required: ['id', 'name'] },
    response: { 200: { type: 'object', properties: { name, tag }, required: ['name'] } },
  };
  if (hasLogAndToken) {
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers.authorization !== `Bearer ${TOKEN}`) return reply.code(401).send({ error: 40100 });
    });
  }
  app.post<{ Body: PlantBody }>('/plants', { schema }, async ({ body: { name, tag } }) => ({ name, tag }));
  return app.listen({ host: '127.0.0.1', port: 0 });
}

/** The API with its defaults, but for the use cases. */
async function plantStore({ level = 'info', hasMetrics = true }): Promise<string> {
  const log = await createLog(level);
  const cases = { ...useCases(fakePlants()), createPlant: async ({ id: _, ...plant }: NewPlant) => plant };
  const served = api({
    ...{
      cases,
      log,
      bodyLimit: 1024 ** 2,
      maxStreams: 4,
      maxFollowers: 500,
      pages: true,
      baseUrl: () => 'http://x',
      isReady: async () => true,
    },
    verifyToken: staticTokens({ full: [{ token: TOKEN }], reading: [] }),
    maxRequests: 1_000,
    maxRequestBytes: 64 * 1024 ** 2,
    ...(hasMetrics && { observer: prometheusMetrics() }),
  });
  return (await serve(served, '127.0.0.1', 0, log)).url;
}

export const edges = {
  'bare node:http': bareHttp,
  'Koa floor': koaFloor,
  Fastify: () => fastify({ hasLogAndToken: false }),
  'Fastify, log and token': () => fastify({ hasLogAndToken: true }),
  'Plant Store': () => plantStore({}),
  'Plant Store without log': () => plantStore({ level: 'silent' }),
  'Plant Store without metrics': () => plantStore({ hasMetrics: false }),
};

export type Edge = keyof typeof edges;
