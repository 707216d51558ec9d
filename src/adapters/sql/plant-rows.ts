import type { NewPlant } from '../../domain/plant.ts';

/** A plant or a deleted one. */
export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** When it was deleted. */
  readonly deleted: unknown;
}

/** What a row stands for. */
export function storedIn(row: PlantRow): NewPlant | 'deleted' {
  return row.deleted === null ? plantIn(row) : 'deleted';
}

export function plantIn({ id, name, tag }: Omit<PlantRow, 'deleted'>): NewPlant {
  return tag === null ? { id, name } : { id, name, tag };
}

/** What an UPDATE makes of a row that was found. */
export interface RowChange {
  readonly before: NewPlant;
  readonly version: bigint;
  readonly after: NewPlant | 'deleted';
}

/** A deleted plant leaves a row without content, which keeps its id taken. */
export function contentAfter({ after }: RowChange): { readonly name: string; readonly tag: string | null } {
  return after === 'deleted' ? { name: '', tag: null } : { name: after.name, tag: after.tag ?? null };
}
