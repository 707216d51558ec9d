import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { type Entry, entry } from './entry.ts';
import { type Line, MAX_LINE } from './lines.ts';

/** Turns bytes of JSON into the plant that they say. @throws PlantStoreError `invalid_plant` */
export type PlantParser = (json: Buffer) => NewPlant;

/** Reads a plant from each line that is not blank. */
export async function* ndjsonEntries(
  lines: AsyncIterable<readonly Line[]>,
  parse: PlantParser,
): AsyncGenerator<readonly Entry[]> {
  for await (const some of lines) {
    const entries: Entry[] = [];
    for (const { number, bytes, isCut } of some) {
      if (isBlank(bytes)) continue;
      entries.push(
        entry(number, number, bytes, () => {
          if (isCut) throw new PlantStoreError('invalid_plant', `the line is larger than ${MAX_LINE} bytes`);
          return parse(bytes);
        }),
      );
    }
    yield entries;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
