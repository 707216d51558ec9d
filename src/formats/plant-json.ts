import type { NewPlant } from '../domain/plant.ts';

/** Writes a plant as the JSON of the schema NewPlant, its id with all digits. */
export function plantJson({ id, name, tag }: NewPlant): string {
  const start = `{"id":${id},"name":${JSON.stringify(name)}`;
  return tag === undefined ? `${start}}` : `${start},"tag":${JSON.stringify(tag)}}`;
}
