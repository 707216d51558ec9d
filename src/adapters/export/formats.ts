import { jsonParser } from '../../wire/object-parser.ts';
import { NewPlant } from '../../wire/schemas.ts';

/** How plants are written to a file that `npm run import` reads back. */
interface FileFormat {
  readonly header: string;
  /** From JSON records separated by line feeds to lines that each have a line end. */
  readonly linesOf: (records: string) => string;
}

export const fileFormats: Readonly<Record<'ndjson' | 'csv', FileFormat>> = {
  ndjson: { header: '', linesOf: (records) => `${records}\n` },
  csv: { header: 'id,name,tag\n', linesOf: (records) => records.split('\n').map(csvLine).join('') },
};

const parse = jsonParser(NewPlant);

function csvLine(record: string): string {
  const { id, name, tag } = parse(Buffer.from(record));
  return `${id},${cell(name)},${cell(tag)}\n`;
}

/** RFC 4180. As in Postgres's COPY, an empty cell is no value, and "" is the empty text. */
function cell(text: string | undefined): string {
  if (text === undefined) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
