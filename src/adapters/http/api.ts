import type { Logger } from 'pino';
import type { TokenVerifier } from '../../application/permissions.ts';
import { openApiDocument } from './contract/openapi.ts';
import type { Operation } from './contract/operation.ts';
import { docsRoutes } from './docs/docs-page.ts';
import { plantsPageRoutes } from './page/plants-page.ts';
import { type AdmissionLimits, admission } from './request/admission.ts';
import { bodyReader } from './request/body-reader.ts';
import { cors } from './request/cors.ts';
import { koaApp } from './request/koa-app.ts';
import { type RequestObserver, requestLog } from './request/request-log.ts';
import { respond } from './request/response.ts';
import { responseLimits } from './request/response-limits.ts';
import { operationRoute } from './request/route.ts';
import type { ExchangeContext } from './request/undocumented-koa.ts';
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
  /** Whether people get pages, at / and /docs. */
  readonly pages: boolean;
  readonly log: Logger;
  /** Writes a line of the log that is JSON already. */
  readonly writeLine: (line: string) => void;
  readonly observer?: RequestObserver;
}

interface Api extends ServedApp {
  /** Lists that are being streamed. */
  streams(): number;
  /** Requests for changes in progress, those that wait included. */
  followers(): number;
}

/** The public API: every operation behind bearer authentication, the OpenAPI document and the pages for people. */
export function api(options: ApiOptions): Api {
  const { operations, verifyToken, bodyLimit, limits, maxStreams, maxFollowers } = options;
  const { baseUrl, corsOrigins = [], pages, log, writeLine, observer } = options;
  const admissions = {
    read: admission(limits, observer?.overloaded),
    write: admission(limits, observer?.overloaded),
    wait: admission({ ...limits, maxRequests: maxFollowers }, observer?.overloaded),
  };
  const responses = responseLimits({ maxBytes: limits.maxRequestBytes, maxStreams }, observer?.overloaded);
  const gates = { verifyToken, admissions, body: bodyReader(bodyLimit), countResponse: responses.count };
  let document: string | undefined;
  function sendDocument(ctx: ExchangeContext): void {
    document ??= JSON.stringify(openApiDocument(operations, baseUrl()));
    respond(ctx, { status: 200, headers: {}, body: document });
  }
  const routes = [
    ...operations.map((operation) => operationRoute(operation, gates)),
    { method: 'GET', path: '/openapi.json', handle: sendDocument },
    ...(pages ? [...plantsPageRoutes, ...docsRoutes(baseUrl)] : []),
  ];
  const methods = new Set(['GET', ...operations.map(({ method }) => method)]);
  const beforeRoutes = corsOrigins.length > 0 ? [cors(corsOrigins, [...methods])] : [];
  return {
    handle: koaApp(routes, beforeRoutes),
    logExchange: requestLog(log, log.isLevelEnabled('info') ? writeLine : undefined, observer),
    freeSlots: () => Math.min(admissions.read.freeSlots(), admissions.write.freeSlots()),
    observer,
    streams: responses.streams,
    followers: admissions.wait.inFlight,
  };
}
