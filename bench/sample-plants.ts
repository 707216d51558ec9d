import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The plants of plants.txt, which have no ids. */
export function samplePlants(): { readonly name: string; readonly tag?: string }[] {
  return readFileSync(join(import.meta.dirname, 'plants.txt'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(`{${line}}`));
}
