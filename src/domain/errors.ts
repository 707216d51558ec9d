/**
 * Why an operation failed, in the words of the domain and its ports:
 * - `invalid_plant`: a field breaks a rule.
 * - `id_taken`: the id belongs to a different plant, which is unchanged.
 * - `id_retired`: the id belongs to a deleted plant, and cannot be used again.
 * - `plant_not_found`: no plant has the id.
 * - `plant_deleted`: the plant with the id was deleted.
 * - `precondition_failed`: the plant does not meet the client's precondition, and is unchanged.
 * - `unknown_position`: this is no valid position in the feed of changes.
 * - `cursor_expired`: changes after this position may be missing: a consumer has to start again.
 * - `changes_unavailable`: the order of this store's changes is not known.
 * - `tags_unavailable`: this store cannot list tags in order.
 * - `malformed_json`: a record is not in valid UTF-8, or not JSON where it must be.
 * - `record_too_large`: a record of a list is larger than a plant may be, or the list has too many records.
 * - `store_unavailable`: the store cannot respond now; the outcome is unknown until the operation is tried again.
 * - `token_unverifiable`: whether a token is accepted cannot be determined now.
 */
export type ErrorCode =
  | 'invalid_plant'
  | 'id_taken'
  | 'id_retired'
  | 'plant_not_found'
  | 'plant_deleted'
  | 'precondition_failed'
  | 'unknown_position'
  | 'cursor_expired'
  | 'changes_unavailable'
  | 'tags_unavailable'
  | 'malformed_json'
  | 'record_too_large'
  | 'store_unavailable'
  | 'token_unverifiable';

/** An expected failure. The driving adapter words it for clients; `cause` holds what only operators may see. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  readonly code: ErrorCode;
  /** The plant's id, or a description of the problem without a full stop; undefined if the code says enough. */
  readonly detail: bigint | string | undefined;

  constructor(code: ErrorCode, detail?: bigint | string, options?: ErrorOptions) {
    super(typeof detail === 'string' ? detail : [code, detail].join(' ').trimEnd(), options);
    this.code = code;
    this.detail = detail;
  }
}
