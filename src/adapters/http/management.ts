import Router from '@koa/router';
import type { Logger } from 'pino';
import { exchangeOf } from './exchange.ts';
import { errorKinds } from './pipeline/errors.ts';
import { koaApp, respondJson } from './pipeline/koa-app.ts';
import type { ServedApp } from './sockets/server.ts';

/** Rejects, saying what is wrong and what to do, while the service should receive no requests. */
export type ReadinessCheck = () => Promise<unknown>;

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
    ctx.set('Content-Type', metrics.contentType);
    ctx.body = await metrics.text();
  });
  router.get('/ready', async (ctx) => {
    const results = await Promise.all(namedChecks.map(async ([name, check]) => [name, await outcome(check)]));
    const failed = results.filter(([, result]) => result !== 'ok').map(([name]) => name);
    if (failed.length === 0) return respondJson(ctx, { status: 'ready', checks: Object.fromEntries(results) });
    const { status, error, headers } = errorKinds.store_unavailable;
    ctx.status = status;
    ctx.set(headers ?? {});
    const message = `not ready: ${failed.join(', ')}`;
    const thrown = new Error(results.map((result) => result.join(': ')).join(', '));
    exchangeOf(ctx.req).failure = { error, thrown };
    respondJson(ctx, { error, message, status: 'not ready', checks: Object.fromEntries(results) });
  });
  // Probes come every few seconds: only failures are logged.
  const koa = koaApp(router, log.isLevelEnabled('warn') ? log.child({}, { level: 'warn' }) : log);
  return { koa, freeSlots: () => Number.POSITIVE_INFINITY };
}

/** A check that runs once at a time: probes come while one that has timed out still runs, and all get its result. */
function shared(check: ReadinessCheck): ReadinessCheck {
  let running: Promise<unknown> | undefined;
  return () => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** `ok`, or what is wrong. */
async function outcome(check: ReadinessCheck): Promise<string> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error(`no response within ${CHECK_TIMEOUT} ms`)), CHECK_TIMEOUT);
  try {
    await Promise.race([check(), timeout.promise]);
    return 'ok';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
