import Router from '@koa/router';
import type { Logger } from 'pino';
import type { TokenVerifier } from '../../application/permissions.ts';
import type { UseCases } from '../../application/use-cases.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { JSON_TYPE } from './errors.ts';
import { type AdmissionOptions, admission } from './middleware/admission.ts';
import { cors } from './middleware/cors.ts';
import { createApp, refuseUnknown } from './middleware/every-request.ts';
import type { RequestObserver } from './middleware/log-line.ts';
import { operationHandler } from './middleware/operation-handler.ts';
import type { RequestState } from './middleware/state.ts';
import { openApiDocument } from './openapi/document.ts';
import { importOperation } from './operations/import-operation.ts';
import { listOperations } from './operations/list-operations.ts';
import type { Operation } from './operations/operation.ts';
import { plantOperations } from './operations/plant-operations.ts';
import { pageRoutes } from './pages.ts';

interface ApiOptions extends AdmissionOptions {
  readonly cases: UseCases;
  readonly verifyToken: TokenVerifier;
  /** The most bytes of a list. */
  readonly bodyLimit: number;
  /** The public address: a function, since the port may be unknown until the server listens. */
  readonly baseUrl: () => string;
  /** Origins whose pages may use the API from a browser; without any, there is no CORS middleware. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Whether the service should receive requests. Anybody may ask. */
  readonly isReady: () => Promise<boolean>;
  /** Whether pages for people are served, at / and /docs. */
  readonly pages: boolean;
  readonly log: Logger;
  readonly observer?: RequestObserver;
}

/** The public API: every operation behind bearer authentication, the OpenAPI document and the pages for people. */
export function api(options: ApiOptions) {
  const { cases, verifyToken, bodyLimit, baseUrl, corsOrigins = [], isReady, pages, log, observer } = options;
  const limits = admission(options);
  const operations = [
    // These come before `/plants/{id}`, which would match their paths.
    ...listOperations(cases),
    ...plantOperations(cases),
    importOperation(cases, bodyLimit),
  ];
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  for (const operation of operations) {
    const method = operation.method.toLowerCase() as Lowercase<Operation['method']>;
    const handler = operationHandler(operation, operations, verifyToken, limits);
    router[method](operation.path.replace(/\{(\w+)\}/g, ':$1'), handler);
  }
  // A router of their own, since the operations' router would try all these paths for each request.
  const otherPaths = new Router<RequestState>({ sensitive: true, strict: true });
  // All unsent responses share these bytes. A text would be copied for each of them.
  let document: Buffer | undefined;
  otherPaths.get('/openapi.json', (ctx) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(operations, baseUrl())));
    ctx.res.setHeader('Content-Type', JSON_TYPE);
    ctx.body = document;
  });
  // For platforms that probe the published port. Only the management port describes problems.
  otherPaths.get('/live', (ctx) => {
    ctx.body = 'live';
  });
  otherPaths.get('/ready', async (ctx) => {
    if (!(await isReady())) throw new PlantStoreError('store_unavailable', 'the service is not ready');
    ctx.body = 'ready';
  });
  for (const { path, handle } of pages ? pageRoutes(baseUrl) : []) otherPaths.get(path, handle);
  const help = `the plants are at /plants, and ${pages ? '/docs' : '/openapi.json'} describes the API`;

  const app = createApp(log, observer);
  if (corsOrigins.length > 0) app.use(cors(corsOrigins));
  app.use(router.routes());
  app.use(otherPaths.routes());
  app.use(refuseUnknown(help));

  return {
    app,
    observer,
    /** The operationIds, in the order of the documentation. */
    operations: operations.map(({ operationId }) => operationId),
    /** Streams of lists in progress. */
    streams: limits.stream.count,
    /** Requests for changes in progress, including those that wait for a change. */
    followers: limits.wait.count,
  };
}
