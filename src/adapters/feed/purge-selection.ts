/** Which deleted plants to forget. */
export interface PurgeSelection {
  /** Seconds since their deletion, at least. */
  readonly minAge: number;
  /** Only the plant with this id, if it is given. */
  readonly id: bigint | undefined;
}
