import Router from '@koa/router';
import type { Logger } from 'pino';
import type { TokenVerifier } from '../../application/permissions.ts';
import { addDocsPage } from './docs/docs-page.ts';
import { type AdmissionLimits, admission } from './operations/admission.ts';
import { bodyReader } from './operations/body-reader.ts';
import { openApiDocument } from './operations/openapi.ts';
import type { Operation } from './operations/operation.ts';
import { responseLimits } from './operations/response-limits.ts';
import { routeOperation } from './operations/route.ts';
import { cors } from './pipeline/cors.ts';
import { koaApp } from './pipeline/koa-app.ts';
import { requestLog } from './pipeline/request-log.ts';
import type { RequestObserver } from './pipeline/request-observer.ts';
import { respond } from './pipeline/response.ts';
import type { ServedApp } from './sockets/server.ts';

interface ApiOptions {
  readonly operations: readonly Operation[];
  readonly verifyToken: TokenVerifier;
  /** Bytes. */
  readonly bodyLimit: number;
  /** The limits of reads, and the same for writes. */
  readonly limits: AdmissionLimits;
  /** Lists that are streamed at once. */
  readonly maxStreams: number;
  /** Requests for changes at once, those that wait included. */
  readonly maxFollowers: number;
  /** The public address; a function, since the port may not be known before the server listens. */
  readonly baseUrl: () => string;
  /** Origins whose pages may use the API from a browser; without any, there is no CORS middleware. */
  readonly corsOrigins?: readonly string[];
  readonly log: Logger;
  readonly observer?: RequestObserver;
}

/** The public API: every operation behind bearer authentication, the OpenAPI document and the page at /docs. */
export function api(options: ApiOptions): ServedApp {
  const { operations, verifyToken, bodyLimit, limits, maxStreams, maxFollowers } = options;
  const { baseUrl, corsOrigins = [], log, observer } = options;
  const admissions = {
    read: admission(limits, observer?.overloaded),
    write: admission(limits, observer?.overloaded),
    wait: admission({ ...limits, maxRequests: maxFollowers }, observer?.overloaded),
  };
  const limitResponse = responseLimits({ maxBytes: limits.maxRequestBytes, maxStreams }, observer?.overloaded);
  const gates = { verifyToken, admissions, body: bodyReader(bodyLimit), limitResponse };
  const exact = { sensitive: true, strict: true };
  const operationRouter = new Router(exact);
  for (const operation of operations) routeOperation(operationRouter, operation, gates);
  const documentRouter = new Router(exact);
  let document: string | undefined;
  documentRouter.get('/openapi.json', (ctx) => {
    document ??= JSON.stringify(openApiDocument(operations, baseUrl()));
    respond(ctx, { status: 200, headers: {}, body: document });
  });
  addDocsPage(documentRouter, baseUrl);

  const methods = new Set(['GET', ...operations.map(({ method }) => method)]);
  const beforeRoutes = corsOrigins.length > 0 ? [cors(corsOrigins, [...methods])] : [];
  const freeSlots = () => Math.min(admissions.read.freeSlots(), admissions.write.freeSlots());
  const koa = koaApp([operationRouter, documentRouter], log, beforeRoutes);
  return { koa, logExchange: requestLog(log, observer), freeSlots, observer };
}
