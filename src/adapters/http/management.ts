import Router from '@koa/router';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from './exchange.ts';
import { errorKinds } from './pipeline/errors.ts';
import { koaApp } from './pipeline/koa-app.ts';
import { requestLog } from './pipeline/request-log.ts';
import { type HttpResponse, respond } from './pipeline/response.ts';
import type { ServedApp } from './sockets/server.ts';

/**
 * Rejects, saying what is wrong and what to do, while the service should receive no requests. Resolves to what does not
 * work although it should, in words, or to undefined.
 */
export type ReadinessCheck = () => Promise<string | undefined>;

interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** Milliseconds. */
const CHECK_TIMEOUT = 1_000;

/** For operators and orchestrators: `/live` (the process runs), `/ready` (it can serve requests) and `/metrics`. */
export function management(
  checks: Readonly<Record<string, ReadinessCheck>>,
  metrics: MetricsPage,
  log: Logger,
): ServedApp {
  const namedChecks = Object.entries(checks).map(([name, check]) => [name, shared(check)] as const);
  const router = new Router({ sensitive: true, strict: true });
  router.get('/live', (ctx) => respondJson(ctx, { status: 'live' }));
  router.get('/metrics', async (ctx) => {
    const body = await metrics.text();
    respond(ctx, { status: 200, headers: { 'Content-Type': metrics.contentType }, body });
  });
  router.get('/ready', async (ctx) => {
    const results = await Promise.all(namedChecks.map(async ([name, check]) => [name, await outcome(check)] as const));
    const checks = Object.fromEntries(results.map(([name, { text }]) => [name, text]));
    const failed = results.filter(([, { isReady }]) => !isReady).map(([name]) => name);
    if (failed.length === 0) return respondJson(ctx, { status: 'ready', checks });
    const { status, error, headers } = errorKinds.store_unavailable;
    const message = `not ready: ${failed.join(', ')}`;
    const thrown = new Error(results.map(([name, { text }]) => `${name}: ${text}`).join(', '));
    exchangeOf(ctx.req).failure = { error, thrown };
    respondJson(ctx, { error, message, status: 'not ready', checks }, status, headers);
  });
  // Probes come every few seconds: only failures are logged.
  const warnings = log.isLevelEnabled('warn') ? log.child({}, { level: 'warn' }) : log;
  return {
    koa: koaApp([router], warnings),
    logExchange: requestLog(warnings),
    freeSlots: () => Number.POSITIVE_INFINITY,
  };
}

function respondJson(ctx: Context, value: unknown, status = 200, headers: HttpResponse['headers'] = {}): void {
  respond(ctx, { status, headers, body: JSON.stringify(value) });
}

/** A check that runs once at a time: probes come while one that has timed out still runs, and all get its result. */
function shared(check: ReadinessCheck): ReadinessCheck {
  let running: Promise<string | undefined> | undefined;
  return () => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
}

interface Outcome {
  readonly isReady: boolean;
  /** `ok`, or what is wrong. */
  readonly text: string;
}

async function outcome(check: ReadinessCheck): Promise<Outcome> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error(`no response within ${CHECK_TIMEOUT} ms`)), CHECK_TIMEOUT);
  try {
    const problem = await Promise.race([check(), timeout.promise]);
    return { isReady: true, text: problem === undefined ? 'ok' : `ok, but ${problem}` };
  } catch (error) {
    return { isReady: false, text: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
