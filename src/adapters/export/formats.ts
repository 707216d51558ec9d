import type { NewPlant } from '../../domain/plant.ts';
import { jsonEncoder } from '../../wire/json-encoder.ts';
import { NewPlant as NewPlantSchema } from '../../wire/schemas.ts';

/** How plants are written to a file that `npm run import` reads back. */
interface ListFormat {
  readonly header: string;
  /** A line with its line end. */
  readonly line: (plant: NewPlant) => string;
}

const encode = jsonEncoder(NewPlantSchema);

export const listFormats: Readonly<Record<'ndjson' | 'csv', ListFormat>> = {
  ndjson: { header: '', line: (plant) => `${encode(plant)}\n` },
  csv: { header: 'id,name,tag\n', line: ({ id, name, tag }) => `${id},${cell(name)},${cell(tag)}\n` },
};

/** RFC 4180. As in Postgres's COPY, an empty cell is no value, and "" is the empty text. */
function cell(text: string | undefined): string {
  if (text === undefined) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
