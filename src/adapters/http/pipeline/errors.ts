import { type ErrorCode, PlantStoreError } from '../../../domain/errors.ts';
import { fieldRules } from '../../../domain/plant.ts';
import type { HttpResponse } from './response.ts';

/** Errors of the HTTP adapter itself, before or without an operation. */
type HttpErrorCode =
  | 'malformed_request'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'token_missing'
  | 'token_refused'
  | 'insufficient_scope'
  | 'path_not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_too_slow'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'overloaded'
  | 'unexpected';

export type AnyErrorCode = ErrorCode | HttpErrorCode;

interface ErrorKind {
  readonly status: number;
  /** The `error` of the body: the status followed by two digits. Stable, since clients depend on it. */
  readonly error: number;
  /** The default message, and the example in the OpenAPI document. */
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RETRY_SOON = { 'Retry-After': '1' };

/** Every error response. A code without a row does not compile. */
export const errorKinds: Readonly<Record<AnyErrorCode, ErrorKind>> = {
  malformed_json: { status: 400, error: 40000, message: 'the body must be JSON in valid UTF-8' },
  malformed_request: { status: 400, error: 40001, message: 'the request must be well-formed HTTP with a Host header' },
  id_taken: { status: 400, error: 40009, message: 'id 1 belongs to a different plant' },
  id_retired: { status: 400, error: 40010, message: 'id 1 belongs to a deleted plant' },
  body_too_large: { status: 400, error: 40013, message: 'the body is larger than the limit' },
  unsupported_media_type: {
    status: 400,
    error: 40015,
    message: 'Content-Type must be application/json in utf-8, without a Content-Encoding',
  },
  invalid_plant: { status: 400, error: 40022, message: `name must be ${fieldRules.name}` },
  token_missing: {
    status: 401,
    error: 40100,
    message: 'send the header Authorization: Bearer <ACCESS_TOKEN>',
    headers: { 'WWW-Authenticate': 'Bearer' },
  },
  token_refused: {
    status: 401,
    error: 40101,
    message: 'the access token is not accepted',
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  },
  insufficient_scope: {
    status: 403,
    error: 40300,
    message: 'the access token does not permit this operation',
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
  },
  path_not_found: { status: 404, error: 40400, message: 'no such path' },
  plant_not_found: { status: 404, error: 40401, message: 'no plant has the id 1' },
  method_not_allowed: { status: 405, error: 40500, message: 'this path does not allow the method: see Allow' },
  not_acceptable: { status: 406, error: 40600, message: 'Accept must allow application/json' },
  request_too_slow: { status: 408, error: 40800, message: 'the request arrived too slowly' },
  plant_deleted: { status: 410, error: 41000, message: 'the plant with the id 1 was deleted' },
  cursor_expired: {
    status: 410,
    error: 41001,
    message: '"after" is not valid any more: start again without it, and drop what the new walk does not bring',
  },
  plant_differs: { status: 412, error: 41200, message: 'the plant with the id 1 is not the one of If-Match' },
  expectation_failed: { status: 417, error: 41700, message: 'Expect may only be 100-continue' },
  headers_too_large: {
    status: 431,
    error: 43100,
    message: 'the headers must not exceed 16 KiB or 200 fields',
  },
  unexpected: { status: 500, error: 50000, message: 'unexpected error; its details are in the log under X-Request-Id' },
  changes_unavailable: {
    status: 501,
    error: 50100,
    message: 'there is no feed of changes: the table is distributed by Citus',
  },
  store_unavailable: {
    status: 503,
    error: 50300,
    message: 'the store is unavailable; sending the same request again is safe',
    headers: RETRY_SOON,
  },
  overloaded: {
    status: 503,
    error: 50300,
    message: 'the service is overloaded; sending the same request again is safe',
    headers: RETRY_SOON,
  },
  token_unverifiable: {
    status: 503,
    error: 50300,
    message: 'the access token cannot be verified now; sending the same request again is safe',
    headers: RETRY_SOON,
  },
};

/** A refusal of the HTTP adapter itself. Its message is for the client. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: HttpErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: HttpErrorCode, message = errorKinds[code].message, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** Its body is an Error as JSON. */
export interface ErrorResponse extends HttpResponse {
  readonly error: number;
  readonly body: string;
}

/** The response to anything thrown. Only expected failures show their message to the client. */
export function errorResponse(thrown: unknown): ErrorResponse {
  const expected = thrown instanceof PlantStoreError || thrown instanceof HttpError;
  const kind = errorKinds[expected ? thrown.code : 'unexpected'];
  return {
    status: kind.status,
    error: kind.error,
    headers: { ...kind.headers, ...(thrown instanceof HttpError && thrown.headers) },
    body: JSON.stringify({ error: kind.error, message: expected ? thrown.message : kind.message }),
  };
}
