import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { type AdmissionLimits, admission } from './admission.ts';
import { bearerAuth, type TokenVerifier } from './bearer-auth.ts';
import { bodyReader, sizeOfBody } from './body-reader.ts';
import { trust } from './connections.ts';
import { cors } from './cors.ts';
import { addDocsPage } from './docs-page.ts';
import { errorAnswer, everyAnswer, HttpError } from './errors.ts';
import { jsonParser } from './json-body.ts';
import { refuseMalformed } from './malformed.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';
import { failures, requestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';
import { restingClients } from './resting-clients.ts';

interface ApiOptions {
  readonly operations: readonly Operation[];
  readonly verifyToken: TokenVerifier;
  /** In bytes. */
  readonly bodyLimit: number;
  readonly limits: AdmissionLimits;
  /** The public address; a function, since the port may not be known before the server listens. */
  readonly baseUrl: () => string;
  /** Whose pages may use the API from a browser; without any, nothing is added to a request's way. */
  readonly corsOrigins?: readonly string[];
  readonly log: Logger;
  readonly observer?: RequestObserver;
}

/** The public API: every operation behind the bearer check, and the document that describes them. */
export function api(options: ApiOptions): Koa {
  const { operations, verifyToken, bodyLimit, limits, baseUrl, corsOrigins = [], log, observer } = options;
  const authenticate = bearerAuth(verifyToken);
  const { admit, room } = admission(limits, observer?.overloaded);
  const readBody = bodyReader(bodyLimit);
  const router = new Router({ sensitive: true, strict: true });

  for (const { method, path, request, handle } of operations) {
    const parse = jsonParser(request);
    router[method](path, async (ctx) => {
      await authenticate(ctx);
      trust(ctx.req.socket);
      await admit(
        sizeOfBody(ctx, bodyLimit),
        () => readBody(ctx),
        async (body) => {
          ctx.state.letIn = true;
          answerJson(ctx, await handle(parse(body) as never));
        },
      );
    });
  }
  router.get('/openapi.json', (ctx) => answerJson(ctx, openApiDocument(operations, baseUrl())));
  addDocsPage(router, baseUrl);

  const methods = new Set(['GET', ...operations.map(({ method }) => method.toUpperCase())]);
  const ahead = corsOrigins.length > 0 ? [cors(corsOrigins, [...methods])] : [];
  return koaApp(router, log, { observer, ahead, rest: restingClients(room) });
}

interface AppOptions {
  readonly observer?: RequestObserver | undefined;
  /** What comes before the routes. */
  readonly ahead?: readonly Middleware[];
  /** Is given each request that was answered without being let in. */
  readonly rest?: (request: IncomingMessage) => void;
}

/** What every port of the service has in common: request log, Error bodies and these routes. */
export function koaApp(router: Router, log: Logger, { observer, ahead = [], rest }: AppOptions = {}): Koa {
  const app = new Koa();
  // Koa would print them. A client that has gone is in the request log, and thrown errors never come here.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') log.error({ err: error }, 'answer not sent');
  });
  app.use(requestLog(log, observer));
  app.use(answerErrors(rest));
  app.use(refuseMalformed);
  for (const middleware of ahead) app.use(middleware);
  app.use(router.routes());
  app.use(refuseUnrouted);
  return app;
}

export function answerJson(ctx: Context, value: unknown): void {
  ctx.body = JSON.stringify(value);
}

const everyAnswerList = Object.entries(everyAnswer);

/** Turns everything thrown below it into an Error body: Koa's own answers would be plain text. */
function answerErrors(rest: AppOptions['rest']): Middleware {
  return async (ctx, next) => {
    for (const [name, value] of everyAnswerList) ctx.res.setHeader(name, value);
    try {
      await next();
    } catch (thrown) {
      const { status, error, headers, body } = errorAnswer(thrown);
      failures.set(ctx.res, { error, thrown });
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
    if (ctx.closing) ctx.set('Connection', 'close');
    if (rest && !ctx.state.letIn) ctx.res.once('close', () => rest(ctx.req));
  };
}

/** Reached when no route answered: either the path or only the method is unknown. */
const refuseUnrouted: Middleware = (ctx) => {
  const { matched } = ctx as { matched?: readonly { methods: readonly string[] }[] };
  if (matched === undefined || matched.length === 0) throw new HttpError('path_not_found');
  const allow = matched.flatMap(({ methods }) => methods).join(', ');
  throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
};
