import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { TokenVerifier } from '../../application/permissions.ts';
import type { UseCases } from '../../application/use-cases.ts';
import { MAX_PLANT_BYTES } from '../../wire/schemas.ts';
import { changeOperations } from './contract/change-operations.ts';
import { importOperation } from './contract/import/import-operation.ts';
import { listOperation, searchLimit } from './contract/list-operation.ts';
import { openApiDocument } from './contract/openapi.ts';
import { overviewOperations } from './contract/overview-operations.ts';
import { plantOperations } from './contract/plant-operations.ts';
import { JSON_TYPE } from './contract/responses.ts';
import { docsRoutes } from './docs/docs-page.ts';
import { plantsPageRoutes } from './page/plants-page.ts';
import { type AdmissionLimits, admission } from './request/admission.ts';
import { bodyReader, noBodyReader } from './request/body.ts';
import { cors } from './request/cors.ts';
import { errors, logging, logUncaught, refuseMalformed, refuseUnknown } from './request/every-request.ts';
import type { RequestObserver } from './request/log-line.ts';
import { authorize, prepare, respond } from './request/operation-route.ts';
import { responseLimits } from './request/response-limits.ts';
import type { OperationState, RequestState } from './request/state.ts';

interface ApiOptions {
  readonly cases: UseCases;
  readonly verifyToken: TokenVerifier;
  /** Bytes of a list. */
  readonly bodyLimit: number;
  /** The limits of reads, and the same for writes. */
  readonly limits: AdmissionLimits;
  /** Lists that are streamed at once. */
  readonly maxStreams: number;
  /** Requests for changes at once, including those that wait for a change. */
  readonly maxFollowers: number;
  /** The public address; a function, since the port may not be known before the server listens. */
  readonly baseUrl: () => string;
  /** Origins whose pages may use the API from a browser; without any, there is no CORS middleware. */
  readonly corsOrigins?: readonly string[];
  /** Whether people get pages, at / and /docs. */
  readonly pages: boolean;
  readonly log: Logger;
  readonly observer?: RequestObserver;
}

/** Lists that are imported at once. */
const MAX_LISTS = 4;

/** Bytes of memory for each byte of a list: its records, and a message for each that is refused, twice. */
const LIST_WEIGHT = 16;

/** The public API: every operation behind bearer authentication, the OpenAPI document and the pages for people. */
export function api(options: ApiOptions) {
  const { cases, verifyToken, bodyLimit, limits, maxStreams, maxFollowers } = options;
  const { baseUrl, corsOrigins = [], pages, log, observer } = options;
  const search = searchLimit();
  const operations = [
    listOperation(cases, search),
    // Before that of `/plants/{id}`.
    ...overviewOperations(cases, search),
    ...plantOperations(cases),
    importOperation(cases),
    ...changeOperations(cases),
  ];
  // Reads, writes, requests that wait and lists have limits of their own, so that no kind keeps another out.
  const admissions = {
    read: admission(limits),
    write: admission(limits),
    list: admission({ ...limits, maxRequests: MAX_LISTS }, 'too_many_alike', LIST_WEIGHT),
    wait: admission({ ...limits, maxRequests: maxFollowers }, 'too_many_alike'),
  };
  const responses = responseLimits(limits.maxRequestBytes, maxStreams);
  const [plantReader, listReader] = [bodyReader(MAX_PLANT_BYTES), bodyReader(bodyLimit)];

  const router = new Router<OperationState>({ sensitive: true, strict: true });
  for (const operation of operations) {
    const { method, permission, requestContent, limits: kind } = operation;
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
    const reader = kind === 'list' ? listReader : plantReader;
    const body = Object.keys(requestContent).length > 0 ? reader : noBodyReader;
    const { admit } = admissions[kind ?? (permission === 'read' ? 'read' : 'write')];
    // The order of the checks is documented.
    router[method.toLowerCase() as Lowercase<typeof method>](
      path,
      authorize(operation, verifyToken),
      prepare(operation),
      admit(body),
      respond(operation, operations, responses.count),
    );
  }
  // Bytes are shared by all responses that a client has not taken yet; a text would be copied for each.
  let document: Buffer | undefined;
  router.get('/openapi.json', (ctx) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(operations, baseUrl())));
    ctx.res.setHeader('Content-Type', JSON_TYPE);
    ctx.body = document;
  });
  // Behind the API's router, which would try all these paths for each request.
  const pageRouter = new Router<RequestState>({ sensitive: true, strict: true });
  for (const { path, handle } of pages ? [...plantsPageRoutes, ...docsRoutes(baseUrl)] : []) {
    pageRouter.get(path, handle);
  }
  const methods = [...new Set(['GET', ...operations.map(({ method }) => method)])];
  const help = `the plants are at /plants, and ${pages ? '/docs' : '/openapi.json'} describes the API`;

  const app = new Koa<RequestState>();
  app.on('error', logUncaught(log));
  app.use(logging(log, false, observer));
  app.use(errors);
  app.use(refuseMalformed);
  if (corsOrigins.length > 0) app.use(cors(corsOrigins, methods));
  app.use(router.routes());
  app.use(pageRouter.routes());
  app.use(refuseUnknown(help));

  return {
    app,
    observer,
    /** The operationIds, in the order of the documentation. */
    operations: operations.map(({ operationId }) => operationId),
    /** Lists that are being streamed. */
    streams: responses.streams,
    /** Requests for changes in progress, including those that wait for a change. */
    followers: admissions.wait.inFlight,
  };
}
