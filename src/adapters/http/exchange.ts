import { randomUUID } from 'node:crypto';
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
  /** When the headers had arrived, as performance.now() counts. */
  readonly start: number;
  /** Sent as X-Request-Id, and in every line of the log about this exchange. */
  readonly requestId: string;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation: string | undefined;
  failure: Failure | undefined;
  /** The length of the response's body, if it is declared. */
  bytesOut: number | undefined;
  /**
   * When reading resumes after the response: at once if the request was admitted, after this iteration of the event
   * loop if it was refused or needed no admission, and when a slot is free if it was refused for overload.
   */
  resume: 'at once' | 'after this iteration' | 'when a slot is free';
}

const EXCHANGE = Symbol('exchange');

interface ServedRequest extends IncomingMessage {
  [EXCHANGE]?: Exchange;
}

/**
 * Begins an exchange, which ends when its response closes.
 *
 * @param ended called then: the only listener, since each costs as much as a middleware
 */
export function beginExchange(
  connection: Connection,
  request: ServedRequest,
  response: ServerResponse,
  ended: (exchange: Exchange) => void,
): void {
  const exchange: Exchange = {
    connection,
    request,
    response,
    start: performance.now(),
    requestId: validId(request.headers['x-request-id']) ?? randomUUID(),
    operation: undefined,
    failure: undefined,
    bytesOut: undefined,
    resume: 'after this iteration',
  };
  request[EXCHANGE] = exchange;
  connection.exchanges.push(exchange);
  response.on('close', () => {
    connection.exchanges.splice(connection.exchanges.indexOf(exchange), 1);
    ended(exchange);
  });
}

/** A client's own request id is kept if it is short and safe in a log and a header. */
const VALID_ID = /^[\w.-]{1,64}$/;

function validId(offered: string | string[] | undefined): string | undefined {
  return typeof offered === 'string' && VALID_ID.test(offered) ? offered : undefined;
}

/** The exchange of a request that came through `serve`. Attached to the request, since Koa passes on nothing else. */
export function exchangeOf(request: ServedRequest): Exchange {
  const exchange = request[EXCHANGE];
  if (exchange === undefined) throw new TypeError('the request did not come through serve()');
  return exchange;
}

/** The oldest exchange whose response is not completely sent yet. */
export function pendingExchange({ exchanges }: Connection): Exchange | undefined {
  return exchanges.find(({ response }) => !response.writableFinished);
}
