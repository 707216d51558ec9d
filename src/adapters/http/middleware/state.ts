import type { Middleware, ParameterizedContext } from 'koa';
import type { Access } from '../../../application/permissions.ts';
import type { HttpError } from '../errors.ts';

/** What is known of a request: `ctx.state`, which `everyRequest` begins. */
export interface RequestState {
  /** When the headers had arrived, as performance.now() counts. */
  readonly startedAt: number;
  /** Sent as X-Request-Id, and in every line of the log about this request. */
  readonly requestId: string;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation?: string;
  /** What its token permits, and who has it; undefined as long as it has no valid one. */
  access?: Access;
  /** Why its response is an error, with the `error` of its body. */
  failure?: { readonly error: number; readonly thrown: unknown };
  /** Why the rest of its body cannot be read: it is malformed, or comes too slowly. By the server (connections.ts). */
  unreadable?: HttpError;
}

export type RequestContext = ParameterizedContext<RequestState>;
export type RequestMiddleware = Middleware<RequestState>;
