import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Connection {
  readonly socket: Socket;
  /** Whether a request on it had a valid token; such connections are never evicted. */
  isAuthenticated: boolean;
  /** Whether the parser has refused its input: it then reports an error for all that follows. */
  isRefused: boolean;
  /** Those in progress, oldest first. */
  readonly exchanges: Exchange[];
}

/** Why a response is an error. */
interface Failure {
  /** The `error` of the response's body. */
  readonly error: number;
  readonly thrown: unknown;
}

/** A request and its response: what both the socket layer and the Koa app know of it. */
export interface Exchange {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation: string | undefined;
  failure: Failure | undefined;
  /**
   * When reading resumes after the response: at once if the request was admitted, after this iteration of the event
   * loop if it was refused or needed no admission, and when a slot is free if it was refused for overload.
   */
  resume: 'at once' | 'after this iteration' | 'when a slot is free';
}

const EXCHANGE = Symbol('exchange');

/** Begins an exchange, which ends when its response closes. */
export function beginExchange(connection: Connection, request: IncomingMessage, response: ServerResponse): Exchange {
  const exchange: Exchange = {
    connection,
    request,
    response,
    operation: undefined,
    failure: undefined,
    resume: 'after this iteration',
  };
  Object.assign(request, { [EXCHANGE]: exchange });
  connection.exchanges.push(exchange);
  response.once('close', () => connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1));
  return exchange;
}

/** The exchange of a request that came through `serve`. Attached to the request, since Koa passes on nothing else. */
export function exchangeOf(request: IncomingMessage): Exchange {
  const { [EXCHANGE]: exchange } = request as { [EXCHANGE]?: Exchange };
  if (exchange === undefined) throw new TypeError('the request did not come through serve()');
  return exchange;
}

/** The oldest exchange whose response is not completely sent yet. */
export function pendingExchange({ exchanges }: Connection): Exchange | undefined {
  return exchanges.find(({ response }) => !response.writableFinished);
}
