import { setTimeout as delay } from 'node:timers/promises';
import Router from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { JSON_TYPE } from './contract/responses.ts';
import { errorKinds, HttpError } from './http-errors.ts';
import { isLoopback } from './loopback.ts';
import { everyRequest, logUncaught, refuseUnknown, setHeaders } from './request/every-request.ts';
import type { RequestContext, RequestMiddleware, RequestState } from './request/state.ts';
import type { ServedApp } from './server.ts';

/**
 * Rejects with the problem and its remedy while the service should receive no requests. Resolves to a problem that
 * should not keep requests away, in words, or to undefined. It may take longer than a probe of it waits; another probe
 * must not make it run twice at the same time.
 */
export type ReadinessCheck = () => Promise<string | undefined>;

/** Milliseconds: less than the second after which many probes give up, and would not see what is wrong. */
const CHECK_TIMEOUT = 800;

/**
 * For operators and orchestrators: `/live` (the process runs), `/ready` (it can serve requests) and `/metrics`.
 *
 * @param host where it listens
 */
export function management(
  checks: Readonly<Record<string, ReadinessCheck>>,
  metrics: () => Promise<string>,
  host: string,
  log: Logger,
): ServedApp {
  async function sendReadiness(ctx: RequestContext): Promise<void> {
    const outcomes = Object.entries(checks).map(async ([name, check]) => ({ name, ...(await outcome(check)) }));
    const results = await Promise.all(outcomes);
    const texts = Object.fromEntries(results.map(({ name, text }) => [name, text]));
    const failed = results.filter(({ isReady }) => !isReady).map(({ name }) => name);
    if (failed.length === 0) return sendJson(ctx, { status: 'ready', checks: texts });
    const { status, error, headers } = errorKinds.store_unavailable;
    const thrown = new Error(results.map(({ name, text }) => `${name}: ${text}`).join(', '));
    ctx.state.failure = { error, thrown };
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

  const app = new Koa<RequestState>();
  app.on('error', logUncaught(log));
  // Probes come every few seconds: only failures are logged.
  app.use(everyRequest(log, true));
  if (isLoopback(host)) app.use(refuseOtherHosts);
  app.use(router.routes());
  app.use(refuseUnknown('this port has /live, /ready and /metrics'));
  return { app };
}

/** Otherwise a page whose owner points its name to this machine (DNS rebinding) could read the responses. */
const refuseOtherHosts: RequestMiddleware = ({ req }, next) => {
  if (req.headers.host === undefined || isLoopback(req.headers.host)) return next();
  throw new HttpError('malformed_request', 'on this port, the Host must be localhost or a loopback address');
};

function sendJson(ctx: RequestContext, value: unknown): void {
  // Koa's own type of an object names a charset, which JSON does not have (RFC 8259 section 11).
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.body = JSON.stringify(value);
}

/** Runs a check within the time limit. `text` is `ok` or the problem. */
async function outcome(check: ReadinessCheck): Promise<{ readonly isReady: boolean; readonly text: string }> {
  const timeout = delay(CHECK_TIMEOUT, undefined, { ref: false }).then(() => {
    throw new Error(`no response within ${CHECK_TIMEOUT} ms`);
  });
  try {
    const problem = await Promise.race([check(), timeout]);
    return { isReady: true, text: problem === undefined ? 'ok' : `ok, but ${problem}` };
  } catch (error) {
    return { isReady: false, text: error instanceof Error ? error.message : String(error) };
  }
}
