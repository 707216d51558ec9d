import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type ErrorResponse, errorResponse } from './http-errors.ts';

export interface Connection {
  readonly socket: Socket;
  /** Whether one of its requests had a valid token; such connections are never evicted. */
  isAuthenticated: boolean;
  /** The exchange in progress. */
  exchange?: Exchange | undefined;
  /** The last request, if its response was sent before all of its body had come. */
  unread?: IncomingMessage | undefined;
  /** The requests behind the exchange in progress and their responses, oldest first. */
  readonly waiting: { readonly request: IncomingMessage; readonly response: ServerResponse }[];
  /** Why nothing more is read: the parser has refused the input, or a request was too slow. */
  refusal?: Error;
  isReadingPaused: boolean;
}

/** A request and its response, as both the socket layer and Koa's middleware know them. */
export interface Exchange {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly log: Logger;
  /** When the headers had arrived and the exchange before it was over, as performance.now() counts. */
  readonly startedAt: number;
  /** Sent as X-Request-Id, and in every line of the log about this exchange. */
  readonly requestId: string;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation: string | undefined;
  /** Why its response is an error, with the `error` of its body. */
  failure: { readonly error: number; readonly thrown: unknown } | undefined;
  /** The length of the response's body, if it is declared. */
  bytesOut: number | undefined;
  /**
   * When the next request of the connection is read: at once if this request was admitted, after this iteration of the
   * event loop if it was refused or needed no admission.
   */
  readsNext: 'at once' | 'after this iteration';
}

/** A client's own request id is kept if it is short and safe in a log and a header. */
const VALID_ID = /^[\w.-]{1,64}$/;

/** Opens an exchange, which ends when its response closes; `ended` is then called. */
export function openExchange(
  connection: Connection,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
  ended: (exchange: Exchange) => void,
): Exchange {
  const offered = request.headers['x-request-id'];
  const exchange: Exchange = {
    connection,
    request,
    response,
    log,
    startedAt: performance.now(),
    requestId: typeof offered === 'string' && VALID_ID.test(offered) ? offered : randomUUID(),
    operation: undefined,
    failure: undefined,
    bytesOut: undefined,
    readsNext: 'after this iteration',
  };
  connection.exchange = exchange;
  response.on('close', () => {
    connection.exchange = undefined;
    connection.unread = request.complete ? undefined : request;
    ended(exchange);
  });
  return exchange;
}

/**
 * Notes an error for the exchange's line in the log. A defect that occurs after that line gets a line of its own.
 *
 * @returns the response to the error
 */
export function fail(exchange: Exchange, thrown: unknown): ErrorResponse {
  const response = errorResponse(thrown);
  const { requestId, failure, log } = exchange;
  if (exchange.response.closed && response.status === 500 && failure?.thrown !== thrown) {
    log.error({ requestId, err: thrown }, 'unexpected error after the client left');
  }
  exchange.failure = { error: response.error, thrown };
  return response;
}
