import type { Middleware, ParameterizedContext } from 'koa';
import type { Exchange } from '../exchange.ts';

/** The members of a request's context beside Koa's own. */
export interface ExchangeState {
  readonly exchange: Exchange;
}

export type ExchangeContext = ParameterizedContext<ExchangeState>;
export type ExchangeMiddleware = Middleware<ExchangeState>;
