/**
 * Why an operation failed, as far as the domain and its ports know:
 * - `invalid_plant`: a field breaks a rule; the message names it and says what it must be.
 * - `id_taken`: the id belongs to a different plant, which is unchanged.
 * - `id_retired`: the id belongs to a deleted plant, and no other can have it.
 * - `plant_not_found`: no plant has the id.
 * - `plant_deleted`: the plant with the id was deleted.
 * - `plant_differs`: the plant is not as the client expects, and is unchanged.
 * - `cursor_expired`: changes after this position may be missing: a consumer has to start again.
 * - `changes_unavailable`: the order of this store's changes is not known.
 * - `tags_unavailable`: this store has no order of its tags.
 * - `malformed_json`: a record is not in valid UTF-8, or not JSON where it must be.
 * - `store_unavailable`: the store cannot respond now; the outcome is unknown until the operation is tried again.
 * - `token_unverifiable`: whether a token is accepted cannot be determined now.
 */
export type ErrorCode =
  | 'invalid_plant'
  | 'id_taken'
  | 'id_retired'
  | 'plant_not_found'
  | 'plant_deleted'
  | 'plant_differs'
  | 'cursor_expired'
  | 'changes_unavailable'
  | 'tags_unavailable'
  | 'malformed_json'
  | 'store_unavailable'
  | 'token_unverifiable';

/** An expected failure. The message is for the client; details that only operators may see go into `cause`. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A failure of the store that ends by itself. @param why in words, without their full stop */
export function storeUnavailable(why: string, options?: ErrorOptions): PlantStoreError {
  return new PlantStoreError('store_unavailable', `${why}; sending the same request again is safe`, options);
}
