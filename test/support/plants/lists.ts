import { readPlantList } from '../../../src/wire/lists/plant-list.ts';

/* Lists as the import reads them. */

type Options = Partial<Parameters<typeof readPlantList>[1]>;

/** Of CSV, unless the options say otherwise. */
export const readList = (body: string | Buffer, options: Options = {}) =>
  readPlantList(Buffer.from(body), { isCsv: true, replaces: false, continued: false, more: false, ...options });

/** What each record was read as: its first line, and the plant or why it is none. */
export async function recordsOf(body: string | Buffer, options: Options = {}) {
  const { records } = await readList(body, options);
  return records.map(({ line, plant, refusal }) => [line, plant ?? refusal?.message]);
}
