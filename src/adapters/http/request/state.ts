import type { Middleware, ParameterizedContext } from 'koa';
import type { Access } from '../../../application/permissions.ts';
import type { Reply } from '../contract/responses.ts';
import type { HttpError } from '../http-errors.ts';

/** What is known of every request: `ctx.state`, which `logging` begins. */
export interface RequestState {
  /** When the headers had arrived, as performance.now() counts. */
  readonly startedAt: number;
  /** Sent as X-Request-Id, and in every line of the log about this request. */
  readonly requestId: string;
  /** The requested operation's operationId; undefined if the request matched none. */
  operation: string | undefined;
  /** What its token permits, and who has it; undefined as long as it has no valid one. */
  access: Access | undefined;
  /** Why its response is an error, with the `error` of its body. */
  failure: { readonly error: number; readonly thrown: unknown } | undefined;
  /** Why the rest of its body cannot be read: it is malformed, or comes too slowly. By the server (connections.ts). */
  unreadable: HttpError | undefined;
  /** Whether it counts among the requests in flight. */
  isAdmitted: boolean;
}

/** What is known of a request for an operation; each is set by the middleware that is named. */
export interface OperationState extends RequestState {
  /** By `authorize`. */
  access: Access;
  /** By `prepare`: does the operation, given the body. */
  invoke: (body: Buffer) => Promise<Reply>;
  /** By `admit`; empty if the operation takes none. */
  body: Buffer;
}

export type RequestContext = ParameterizedContext<RequestState>;
export type RequestMiddleware = Middleware<RequestState>;
export type OperationContext = ParameterizedContext<OperationState>;
export type OperationMiddleware = Middleware<OperationState>;
