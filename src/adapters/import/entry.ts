import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
import type { Line } from './lines.ts';

/** A record of a list, in any format, and the plant in it, or why there is none. */
export interface Entry {
  /** With its original bytes, to be corrected if it is refused. */
  readonly line: Line;
  readonly content: NewPlant | PlantStoreError;
}

/** Reads a plant from a line. @param read throws a PlantStoreError if there is none in these bytes */
export function entryOf(line: Line, read: (bytes: Buffer) => NewPlant): Entry {
  try {
    if (line.problem !== undefined) throw new PlantStoreError('invalid_plant', line.problem);
    return { line, content: read(line.bytes) };
  } catch (error) {
    if (error instanceof PlantStoreError) return { line, content: error };
    throw error;
  }
}

/** Whether a plant was refused because its id belongs to another one, which may have been deleted. */
export function isConflict({ code }: PlantStoreError): boolean {
  return code === 'id_taken' || code === 'id_retired';
}
