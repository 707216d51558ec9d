/* The types of what shows plants in the table. */

import type { Change, Row, TagChoices, Trouble, View } from '../types.d.ts';

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

export interface Selection {
  has(id: bigint): boolean;
  /** Those that the list has. */
  rows(): readonly Row[];
  toggle(id: bigint): void;
  /** Selects all rows from the one that was toggled last to this one. */
  extend(id: bigint): void;
  /** Selects every row that the list has. */
  all(): void;
  /** Without an update: the row has changed, or goes. */
  remove(id: bigint): void;
  clear(): void;
}

export interface FieldEvents {
  /** Another view is shown now. */
  shown(): void;
  failed(error: unknown): void;
  trouble: Trouble;
}

export interface SeveralEvents {
  selection: Selection;
  choices: TagChoices;
  apply(changes: readonly Change[]): void;
  failed(error: unknown, where: string): void;
  /** Says what was done. */
  announce(text: string): void;
}
