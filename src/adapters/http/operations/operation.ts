import type { TSchema } from 'typebox';
import type { Permission, Permissions } from '../../../application/permissions.ts';
import type { Precondition } from '../../../domain/precondition.ts';
import type { Parameters, Values } from './parameters.ts';
import type { ResponseKind } from './responses.ts';

/** The body that an operation takes. */
interface RequestBody<Body> {
  /** The schema of each media type that it may have. */
  readonly content: Readonly<Record<string, TSchema>>;
  readonly bytesMax: number;
  /** What clients should do about another media type, or an unknown parameter. */
  readonly advice?: string;
  readonly parse: (bytes: Buffer) => Body;
}

/** The input of an operation, taken from its request. */
interface OperationInput<Body, Path extends Parameters, Query extends Parameters> {
  readonly path: Values<Path>;
  readonly query: Partial<Values<Query>>;
  /** Undefined without these headers, or if the operation is not conditional. */
  readonly precondition: Precondition | undefined;
  /** The media type of the response; undefined if the request is no read. */
  readonly responseType: string | undefined;
  /** The media type of the body; undefined if the operation takes none: one that is sent nevertheless is ignored. */
  readonly bodyType: string | undefined;
  readonly body: Body;
  readonly httpVersion: string;
  /** Creates a signal that aborts when the client has left, or has its response. */
  signal(): AbortSignal;
}

/** An operation of the API: what the router, the handler, log, metrics and the OpenAPI document need of it. */
export interface Operation<
  Body = unknown,
  Result = unknown,
  Path extends Parameters = Parameters,
  Query extends Parameters = Parameters,
> {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path with its parameters in braces, as in `/plants/{id}`. */
  readonly path: string;
  readonly permission: Permission;
  /** The group in the documentation: a tag of OpenAPI. */
  readonly group: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  readonly parameters?: Path;
  /** The parameters in its query, all optional; undefined if it ignores the query. */
  readonly query?: Query;
  /** Whether it honours the headers `If-Match` and `If-None-Match`. */
  readonly isConditional?: boolean;
  /** Undefined if the operation takes no body. */
  readonly body?: RequestBody<Body>;
  /** Undefined if the response is 204, without a body. */
  readonly response?: ResponseKind<Result>;
  /** The error statuses that not every operation has. */
  readonly statuses?: readonly number[];
  /** Which limit counts its concurrent requests; undefined for that of all reads, or of all writes. */
  limit?(query: Partial<Values<Query>>): 'list' | 'search' | 'wait' | undefined;
  /**
   * Checks the parameters together, before the body is read.
   *
   * @throws HttpError `invalid_request`, `insufficient_scope`
   */
  check?(query: Partial<Values<Query>>, permissions: Permissions): void;
  /** MUST reject with PlantStoreError or HttpError with one of the documented codes; any other rejection is a defect. */
  handle(input: OperationInput<Body, Path, Query>): Promise<Result>;
}

/** Infers the types of an operation: those of its body, its parameters and its result match its schemas. */
export function operation<Body, Result, Path extends Parameters, Query extends Parameters>(
  definition: Operation<Body, Result, Path, Query>,
): Operation {
  return definition;
}
