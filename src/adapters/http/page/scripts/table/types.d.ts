/* The types of what shows plants in the table. */

import type { Trouble, View } from '../types.d.ts';

/** The body of a response that counts plants. */
export interface PlantCount {
  count: number;
  isExact: boolean;
}

export interface ListEvents {
  updated(): void;
  /** Gets the methods that the token may use on the list: its `Allow`. */
  permitted(methods: string): void;
  failed(error: unknown): void;
  trouble: Trouble;
}

export interface RowActions {
  open(id: bigint): void;
  /** Shows another view: the one of the fields with these limits. */
  show(limits: View): void;
}

export interface FieldEvents {
  /** Another view is shown now. */
  shown(): void;
  failed(error: unknown): void;
  trouble: Trouble;
}
