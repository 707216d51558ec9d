import type { NewPlant } from '../../../domain/plant.ts';

/** A plant or a deleted one. */
export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** When it was deleted. */
  readonly deleted: bigint | null;
}

/** What a row stands for. */
export function storedIn({ id, name, tag, deleted }: PlantRow): NewPlant | 'deleted' {
  if (deleted !== null) return 'deleted';
  return tag === null ? { id, name } : { id, name, tag };
}
