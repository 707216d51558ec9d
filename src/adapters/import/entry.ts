import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';

/** One plant of a list, in any format. */
export interface Entry {
  /** The line where it begins, from 1. */
  readonly line: number;
  /** The line where it ends: a later one if a quoted CSV cell contains line breaks. */
  readonly lastLine: number;
  /** Its original bytes, to be corrected if it is refused. */
  readonly bytes: Buffer;
  /** The plant, or why it is not one. */
  readonly content: NewPlant | PlantStoreError;
}

/** Whether a plant was refused because its id belongs to another one, which may have been deleted. */
export function isConflict(code: PlantStoreError['code']): boolean {
  return code === 'id_taken' || code === 'id_retired';
}

/** Creates an entry from the plant that `read` returns or the PlantStoreError that it throws. */
export function entry(line: number, lastLine: number, bytes: Buffer, read: () => NewPlant): Entry {
  try {
    return { line, lastLine, bytes, content: read() };
  } catch (error) {
    if (error instanceof PlantStoreError) return { line, lastLine, bytes, content: error };
    throw error;
  }
}
