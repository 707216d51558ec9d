import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { errorKinds, HttpError } from './http-errors.ts';
import { isLoopback } from './loopback.ts';
import type { ExchangeContext } from './request/exchange-context.ts';
import { koaApp } from './request/koa-app.ts';
import { requestLog } from './request/request-log.ts';
import { type HttpResponse, respond } from './request/response.ts';
import type { ServedApp } from './sockets/server.ts';

/**
 * Rejects with the problem and its remedy while the service should receive no requests. Resolves to a problem that
 * should not keep requests away, in words, or to undefined. It may take longer than a probe of it waits; another probe
 * must not make it run twice at the same time.
 */
export type ReadinessCheck = () => Promise<string | undefined>;

/** Milliseconds: less than the second after which many probes give up, and would not see what is wrong. */
const CHECK_TIMEOUT = 800;

/** Prometheus's text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
  async function sendMetrics(ctx: ExchangeContext): Promise<void> {
    respond(ctx, { status: 200, headers: { 'Content-Type': METRICS_TYPE }, body: await metrics() });
  }

  async function sendReadiness(ctx: ExchangeContext): Promise<void> {
    const outcomes = Object.entries(checks).map(async ([name, check]) => ({ name, ...(await outcome(check)) }));
    const results = await Promise.all(outcomes);
    const texts = Object.fromEntries(results.map(({ name, text }) => [name, text]));
    const failed = results.filter(({ isReady }) => !isReady).map(({ name }) => name);
    if (failed.length === 0) return respondJson(ctx, { status: 'ready', checks: texts });
    const { status, error, headers } = errorKinds.store_unavailable;
    const thrown = new Error(results.map(({ name, text }) => `${name}: ${text}`).join(', '));
    ctx.state.exchange.failure = { error, thrown };
    const message = `not ready: ${failed.join(', ')}`;
    respondJson(ctx, { error, message, status: 'not ready', checks: texts }, status, headers);
  }

  const routes = [
    { method: 'GET', path: '/live', handle: (ctx: ExchangeContext) => respondJson(ctx, { status: 'live' }) },
    { method: 'GET', path: '/ready', handle: sendReadiness },
    { method: 'GET', path: '/metrics', handle: sendMetrics },
  ];
  return {
    handle: koaApp(routes, 'this port has /live, /ready and /metrics', isLoopback(host) ? [refuseOtherHosts] : []),
    // Probes come every few seconds: only failures are logged.
    logExchange: requestLog(log, undefined),
  };
}

/** Otherwise a page whose owner points its name to this machine (DNS rebinding) could read the responses. */
function refuseOtherHosts({ req }: ExchangeContext, next: () => Promise<unknown>): Promise<unknown> {
  if (req.headers.host === undefined || isLoopback(req.headers.host)) return next();
  throw new HttpError('malformed_request', 'on this port, the Host must be localhost or a loopback address');
}

function respondJson(ctx: ExchangeContext, value: unknown, status = 200, headers: HttpResponse['headers'] = {}): void {
  respond(ctx, { status, headers, body: JSON.stringify(value) });
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
