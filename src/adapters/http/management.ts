import Router from '@koa/router';
import type { Logger } from 'pino';
import { errorKinds, HttpError, JSON_TYPE } from './errors.ts';
import { createApp, refuseUnknown, setHeaders } from './middleware/every-request.ts';
import type { RequestContext, RequestMiddleware, RequestState } from './middleware/state.ts';
import type { Readiness } from './readiness.ts';

/** Matches loopback addresses to listen at, and Host headers, which may have a port. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)(?::\d+)?$/i;

/**
 * For operators and orchestrators: `/live` (the process runs), `/ready` (it can serve requests) and `/metrics`.
 *
 * @param host where it listens
 */
export function management({ report }: Readiness, metrics: () => Promise<string>, host: string, log: Logger) {
  async function sendReadiness(ctx: RequestContext): Promise<void> {
    const { failed, texts } = await report();
    if (failed.length === 0) return sendJson(ctx, { status: 'ready', checks: texts });
    const { status, error, headers } = errorKinds.store_unavailable;
    const reasons = Object.entries(texts).map((check) => check.join(': '));
    ctx.state.failure = { error, thrown: new Error(reasons.join(', ')) };
    ctx.status = status;
    setHeaders(ctx.res, headers);
    sendJson(ctx, { error, message: `not ready: ${failed.join(', ')}`, status: 'not ready', checks: texts });
  }

  const router = new Router<RequestState>({ sensitive: true, strict: true });
  router.get('/live', (ctx) => sendJson(ctx, { status: 'live' }));
  router.get('/ready', sendReadiness);
  router.get('/metrics', async (ctx) => {
    ctx.body = await metrics();
    ctx.type = 'text/plain; version=0.0.4; charset=utf-8';
  });

  // Probes come every few seconds, so only failures are logged.
  const app = createApp(log.child({}, { level: log.isLevelEnabled('warn') ? 'warn' : log.level }));
  if (LOOPBACK.test(host)) app.use(refuseOtherHosts);
  app.use(router.routes());
  app.use(refuseUnknown('this port has /live, /ready and /metrics'));
  return { app };
}

/** Refuses other hosts: a page whose owner points its name to this machine (DNS rebinding) could read the responses. */
const refuseOtherHosts: RequestMiddleware = ({ req }, next) => {
  if (req.headers.host === undefined || LOOPBACK.test(req.headers.host)) return next();
  throw new HttpError('malformed_request', 'on the management port, the Host must be localhost or a loopback address');
};

function sendJson(ctx: RequestContext, value: unknown): void {
  // Koa would name a charset, which JSON does not have (RFC 8259 section 11).
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.body = JSON.stringify(value);
}
