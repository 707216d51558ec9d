/**
 * Why an operation failed, in the words of the domain and its ports:
 * - `invalid_plant`: a field breaks a rule.
 * - `id_taken`: the id belongs to a different plant, which is unchanged.
 * - `id_retired`: the id belongs to a deleted plant, and no other can have it.
 * - `plant_not_found`: no plant has the id.
 * - `plant_deleted`: the plant with the id was deleted.
 * - `precondition_failed`: the plant is not as the client expects, and is unchanged.
 * - `unknown_position`: no consumer can have this position in the feed of changes.
 * - `cursor_expired`: changes after this position may be missing: a consumer has to start again.
 * - `changes_unavailable`: the order of this store's changes is not known.
 * - `tags_unavailable`: this store has no order of its tags.
 * - `malformed_json`: a record is not in valid UTF-8, or not JSON where it must be.
 * - `record_too_large`: a record of a list is larger than a plant may be, or the list has too many.
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

/** An expected failure. Whoever responds to a client chooses the words; what only operators may see goes into `cause`. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  readonly code: ErrorCode;
  /** The id of the plant, or what is wrong, in words without a full stop; undefined if the code says it all. */
  readonly detail: bigint | string | undefined;

  constructor(code: ErrorCode, detail?: bigint | string, options?: ErrorOptions) {
    super(typeof detail === 'string' ? detail : [code, detail].join(' ').trimEnd(), options);
    this.code = code;
    this.detail = detail;
  }
}
