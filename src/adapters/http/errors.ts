import { type ErrorCode, PlantStoreError } from '../../domain/errors.ts';
import { fieldRules } from '../../domain/plant.ts';

export const JSON_TYPE = 'application/json';

type HeaderFields = Readonly<Record<string, string>>;

interface ErrorKind {
  readonly status: number;
  /** The `error` of the body: the status followed by two digits. Stable, since clients depend on it. */
  readonly error: number;
  /** Puts the detail of an error into words. */
  readonly message: (detail?: bigint | string) => string;
  readonly headers: HeaderFields;
}

/** @param message puts the detail of an error into words, or is the message of an error without a detail */
function kind(error: number, message: string | ErrorKind['message'], headers: HeaderFields = {}): ErrorKind {
  const words = typeof message === 'string' ? (detail: bigint | string = message) => `${detail}` : message;
  return { status: Math.floor(error / 100), error, message: words, headers };
}

const challenge = (error = '') => ({ 'WWW-Authenticate': `Bearer${error && ` error="${error}"`}` });
const RETRY_SOON = { 'Retry-After': '1' };
/** Ends the messages of 401, for people who do not know what a token is. */
const TOKEN = 'a token is a secret text that those who run this service give out, or their identity provider issues';
const SAFE = 'sending the same request again is safe';

/** Every error response. Each code of the domain must have a row to compile; the other codes are those of HTTP itself. */
export const errorKinds = {
  malformed_json: kind(40000, 'the body must be JSON in valid UTF-8'),
  malformed_request: kind(40001, 'the request must be well-formed HTTP with a Host header'),
  id_taken: kind(40009, (id) => `id ${id} belongs to a different plant`),
  id_retired: kind(40010, (id) => `id ${id} belongs to a deleted plant`),
  body_too_large: kind(40013, 'the body is larger than the limit'),
  record_too_large: kind(40013, 'the line is larger than the limit'),
  unsupported_media_type: kind(40015, 'Content-Type must be a media type that the operation takes'),
  invalid_plant: kind(40022, `name must be ${fieldRules.name}`),
  invalid_request: kind(40022, 'a parameter or a header breaks its rule'),
  unknown_position: kind(40022, 'after must be the "next" of an earlier response of /changes, or now'),
  token_missing: kind(40100, `send the header Authorization: Bearer <ACCESS_TOKEN>; ${TOKEN}`, challenge()),
  token_refused: kind(
    40101,
    `the access token is not accepted: mistyped, replaced or expired; ${TOKEN}`,
    challenge('invalid_token'),
  ),
  insufficient_scope: kind(40300, 'the access token does not permit this operation', challenge('insufficient_scope')),
  path_not_found: kind(40400, 'no such path'),
  plant_not_found: kind(40401, (id) => `no plant has the id ${id}`),
  method_not_allowed: kind(40500, 'this path does not allow the method: see Allow'),
  not_acceptable: kind(40600, 'the header Accept must allow application/json'),
  request_too_slow: kind(40800, 'the request arrived too slowly'),
  plant_deleted: kind(41000, (id) => `the plant with the id ${id} was deleted`),
  cursor_expired: kind(
    41001,
    (why) =>
      `"after" is not valid any more, since ${why}: start again without it, and drop plants that are not returned then`,
  ),
  precondition_failed: kind(
    41200,
    (id) => `the ETag of the plant with the id ${id} is not what If-Match or If-None-Match requires`,
  ),
  expectation_failed: kind(41700, 'the header Expect must be 100-continue, or left out'),
  headers_too_large: kind(43100, 'the headers must not exceed 32 KiB or 200 fields'),
  unexpected: kind(50000, 'unexpected error; its details are in the log under X-Request-Id'),
  changes_unavailable: kind(50100, 'this database has no feed of changes'),
  tags_unavailable: kind(50100, 'this database cannot list tags'),
  store_unavailable: kind(50300, (why = 'the store is unavailable') => `${why}; ${SAFE}`, RETRY_SOON),
  overloaded: kind(50300, `the service is overloaded; ${SAFE}`, RETRY_SOON),
  concurrency_limit: kind(50300, `too many requests of this kind are in progress; ${SAFE}`, RETRY_SOON),
  token_unverifiable: kind(50300, `the key of the access token cannot be fetched; ${SAFE}`, RETRY_SOON),
} satisfies Readonly<Record<ErrorCode, ErrorKind>> & Readonly<Record<string, ErrorKind>>;

/** Errors of the HTTP adapter itself, before or without an operation. */
type HttpErrorCode = Exclude<keyof typeof errorKinds, ErrorCode>;

/** A refusal of the HTTP adapter itself. Its message is for the client. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: HttpErrorCode;
  readonly headers: HeaderFields;

  constructor(code: HttpErrorCode, message = errorKinds[code].message(), headers: HeaderFields = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** The response to anything thrown: an Error as JSON. Only expected failures show their message to the client. */
export function errorResponse(thrown: unknown) {
  const failure = thrown instanceof PlantStoreError || thrown instanceof HttpError ? thrown : undefined;
  const { status, error, message, headers } = errorKinds[failure?.code ?? 'unexpected'];
  const words = failure instanceof HttpError ? failure.message : message(failure?.detail);
  return {
    status,
    error,
    headers: { 'Content-Type': JSON_TYPE, ...headers, ...(failure instanceof HttpError && failure.headers) },
    body: JSON.stringify({ error, message: words }),
  };
}
