import type { Logger } from 'pino';
import type { TokenVerifier } from '../../application/permissions.ts';
import type { UseCases } from '../../application/use-cases.ts';
import { changeOperations } from './contract/change-operations.ts';
import { importOperation } from './contract/import-operation.ts';
import { listOperation } from './contract/list-operation.ts';
import { openApiDocument } from './contract/openapi.ts';
import { plantOperations } from './contract/plant-operations.ts';
import { docsRoutes } from './docs/docs-page.ts';
import { plantsPageRoutes } from './page/plants-page.ts';
import { type AdmissionLimits, admission } from './request/admission.ts';
import { bodyReader } from './request/body-reader.ts';
import { cors } from './request/cors.ts';
import type { ExchangeContext } from './request/exchange-context.ts';
import { koaApp } from './request/koa-app.ts';
import { type RequestObserver, requestLog } from './request/request-log.ts';
import { respond, responseLimits } from './request/response.ts';
import { operationRoute } from './request/route.ts';

interface ApiOptions {
  readonly cases: UseCases;
  readonly verifyToken: TokenVerifier;
  /** Bytes. */
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
  /** Writes a line of the log that is JSON already. */
  readonly writeLine: (line: string) => void;
  readonly observer?: RequestObserver;
}

/** Lists that are imported at once. */
const MAX_LISTS = 4;

/** Bytes of memory for each byte of a list: its records, and a message for each that is refused, twice. */
const LIST_WEIGHT = 16;

/** The public API: every operation behind bearer authentication, the OpenAPI document and the pages for people. */
export function api(options: ApiOptions) {
  const { cases, verifyToken, bodyLimit, limits, maxStreams, maxFollowers } = options;
  const { baseUrl, corsOrigins = [], pages, log, writeLine, observer } = options;
  const operations = [
    listOperation(cases),
    ...plantOperations(cases),
    importOperation(cases),
    ...changeOperations(cases),
  ];
  const admissions = {
    read: admission(limits),
    write: admission(limits),
    list: admission({ ...limits, maxRequests: MAX_LISTS }, 'too_many_alike', LIST_WEIGHT),
    wait: admission({ ...limits, maxRequests: maxFollowers }, 'too_many_alike'),
  };
  const responses = responseLimits({ maxBytes: limits.maxRequestBytes, maxStreams });
  const gates = {
    verifyToken,
    admissions,
    body: bodyReader(bodyLimit),
    countResponse: responses.count,
    operations,
  };
  // Octets are shared by all responses that a client has not taken yet; a text would be copied for each.
  let document: Buffer | undefined;
  function sendDocument(ctx: ExchangeContext): void {
    document ??= Buffer.from(JSON.stringify(openApiDocument(operations, baseUrl())));
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
    handle: koaApp(
      routes,
      `the plants are at /plants, and ${pages ? '/docs' : '/openapi.json'} describes the API`,
      beforeRoutes,
    ),
    logExchange: requestLog(log, log.isLevelEnabled('info') ? writeLine : undefined, observer),
    observer,
    /** The operationIds, in the order of the documentation. */
    operations: operations.map(({ operationId }) => operationId),
    /** Lists that are being streamed. */
    streams: responses.streams,
    /** Requests for changes in progress, including those that wait for a change. */
    followers: admissions.wait.inFlight,
  };
}
