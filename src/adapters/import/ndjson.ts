import type { NewPlant } from '../../domain/plant.ts';
import { type Entry, entryOf } from './entry.ts';
import { isBlank, type Line } from './lines.ts';

/**
 * Reads a plant from each line that is not blank.
 *
 * @param parse throws PlantStoreError `invalid_plant` or `malformed_json` if the line is none
 * @throws Error if all lines are blank
 */
export async function* ndjsonEntries(
  lines: AsyncIterable<readonly Line[]>,
  parse: (json: Buffer) => NewPlant,
): AsyncGenerator<readonly Entry[]> {
  let isEmpty = true;
  for await (const batch of lines) {
    const entries = batch.filter((line) => !isBlank(line)).map((line) => entryOf(line, parse));
    if (entries.length > 0) isEmpty = false;
    yield entries;
  }
  if (isEmpty) throw new Error('the list is empty');
}
