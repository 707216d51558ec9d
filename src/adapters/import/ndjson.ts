import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { type Entry, entry } from './entry.ts';
import { type Line, MAX_LINE } from './lines.ts';

/** Parses a plant from JSON. @throws PlantStoreError `invalid_plant` or `malformed_json` */
export type PlantParser = (json: Buffer) => NewPlant;

/** Reads a plant from each line that is not blank. */
export async function* ndjsonEntries(
  lines: AsyncIterable<readonly Line[]>,
  parse: PlantParser,
): AsyncGenerator<readonly Entry[]> {
  for await (const batch of lines) {
    const entries: Entry[] = [];
    for (const { number, bytes, isTruncated } of batch) {
      if (isBlank(bytes)) continue;
      entries.push(
        entry(number, number, bytes, () => {
          if (isTruncated) throw new PlantStoreError('invalid_plant', `the line is larger than ${MAX_LINE} bytes`);
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
