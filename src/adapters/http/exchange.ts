import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The connection of a client. */
export interface Connection {
  readonly socket: Socket;
  /** Whether a good token has come over it, so that it is not closed to make room for others. */
  isTrusted: boolean;
  /** Whether the parser has refused what came: it complains again of everything that still comes. */
  isRefused: boolean;
  /** Those that are not over, the oldest first. */
  readonly exchanges: Exchange[];
}

/** Why a response is not 2xx. */
interface Failure {
  /** The contract's `error`. */
  readonly error: number;
  readonly thrown: unknown;
}

/** A request and its response: all that the sockets and the Koa app need to know of each other. */
export interface Exchange {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Which operation was asked for; undefined if none. */
  operation: string | undefined;
  failure: Failure | undefined;
  /**
   * When the connection is read on after the response: `at once` if the request was let in, at the end of this turn of
   * the event loop if it was refused or needed nothing, and `when there is room` if it was refused for overload.
   */
  readOn: 'at once' | 'at the end of the turn' | 'when there is room';
}

const EXCHANGE = Symbol('exchange');

/** Begins the exchange of a request; it ends when the response closes. */
export function beginExchange(connection: Connection, request: IncomingMessage, response: ServerResponse): Exchange {
  const exchange: Exchange = {
    connection,
    request,
    response,
    operation: undefined,
    failure: undefined,
    readOn: 'at the end of the turn',
  };
  Object.assign(request, { [EXCHANGE]: exchange });
  connection.exchanges.push(exchange);
  response.once('close', () => connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1));
  return exchange;
}

/** The exchange of a request that came through `serve`: Koa passes on nothing else. */
export function exchangeOf(request: IncomingMessage): Exchange {
  const { [EXCHANGE]: exchange } = request as { [EXCHANGE]?: Exchange };
  if (exchange === undefined) throw new TypeError('the request did not come through serve()');
  return exchange;
}

/** The oldest exchange whose response is not sent yet, if the head of its request was good. */
export function pendingExchange({ exchanges }: Connection): Exchange | undefined {
  return exchanges.find(({ response }) => !response.writableFinished);
}
