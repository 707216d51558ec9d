import type { Middleware, ParameterizedContext } from 'koa';
import type { Access } from '../../../application/permissions.ts';
import type { HttpError } from '../errors.ts';

/** The state of a request, `ctx.state`, which `everyRequest` creates. */
export interface RequestState {
  /** When the headers arrived, as performance.now() counts. */
  readonly startedAt: number;
  /** Sent as X-Request-Id, and in every line of the log about this request. */
  readonly requestId: string;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation?: string;
  /** What its token permits, and whose it is; undefined until a valid token was found. */
  access?: Access;
  /** Why its response is an error, with the `error` of its body. */
  failure?: { readonly error: number; readonly thrown: unknown };
  /** Its body is malformed or too slow, as the server has found (connections.ts). */
  bodyError?: HttpError;
}

export type RequestContext = ParameterizedContext<RequestState>;
export type RequestMiddleware = Middleware<RequestState>;
