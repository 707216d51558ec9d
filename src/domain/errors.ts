/** Why an operation failed, in the words of the domain and its ports. */
export type ErrorCode =
  | 'invalid_plant' // A field breaks a rule.
  | 'id_taken' // The id belongs to a different plant, which is unchanged.
  | 'id_retired' // The id belongs to a deleted plant, and cannot be used again.
  | 'plant_not_found' // No plant has the id.
  | 'plant_deleted' // The plant with the id was deleted.
  | 'precondition_failed' // The plant does not meet the client's precondition, and is unchanged.
  | 'unknown_position' // This is no valid position in the feed of changes.
  | 'cursor_expired' // Changes after this position may be missing: a consumer has to start again.
  | 'changes_unavailable' // The order of this store's changes is not known.
  | 'tags_unavailable' // This store cannot list tags in order.
  | 'malformed_json' // A record is not in valid UTF-8, or not JSON where it must be.
  | 'record_too_large' // A record of a list is larger than a plant may be, or the list has too many records.
  | 'store_unavailable' // The store cannot respond now; the outcome is unknown until the operation is tried again.
  | 'token_unverifiable'; // Whether a token is accepted cannot be determined now.

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
