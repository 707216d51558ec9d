import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';

/** One plant of a list, in whichever format. */
export interface Entry {
  /** The line where it begins, from 1. */
  readonly line: number;
  /** The line where it ends: a later one if a quote of CSV holds line ends. */
  readonly lastLine: number;
  /** As it was, for those who have to correct it. */
  readonly bytes: Buffer;
  /** What it says, or why that is no plant. */
  readonly content: NewPlant | PlantStoreError;
}

/** Makes an entry of what `read` returns, or of the PlantStoreError that it throws. */
export function entry(line: number, lastLine: number, bytes: Buffer, read: () => NewPlant): Entry {
  try {
    return { line, lastLine, bytes, content: read() };
  } catch (error) {
    if (error instanceof PlantStoreError) return { line, lastLine, bytes, content: error };
    throw error;
  }
}
