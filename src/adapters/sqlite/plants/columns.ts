import type { NewPlant, Stored } from '../../../domain/plant.ts';

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

/** Bytes of text. */
export const SIZE = {
  /** Of a plant. */
  of: (stored: Stored) =>
    typeof stored === 'object' ? Buffer.byteLength(stored.name) + Buffer.byteLength(stored.tag ?? '') : 0,
  /** That one read returns, unless a single plant has more. */
  read: 1024 ** 2,
};
