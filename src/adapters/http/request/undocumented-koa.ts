import Koa from 'koa';
import type { Exchange } from '../exchange.ts';
import type { ExchangeContext, ExchangeState } from './exchange-context.ts';

/* Undocumented parts of Koa, which no public interface replaces. undocumented-koa.test.ts fails without them. */

const koa = new Koa();

/**
 * Creates the context in which Koa's middleware handles an exchange, by a method that Koa marks as private. The public
 * `callback()` also watches each response and its socket by on-finished, which takes an eighth of the CPU time of a
 * create, only to report errors that the log shows as `aborted`, and responds to errors with plain text.
 */
export function contextOf(exchange: Exchange): ExchangeContext {
  const context = koa.createContext<ExchangeState>(exchange.request, exchange.response);
  context.state = { exchange };
  return context;
}
