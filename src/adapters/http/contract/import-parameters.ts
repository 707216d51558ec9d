import Type from 'typebox';
import { separators } from '../../../wire/lists/csv-cells.ts';
import type { Column } from '../../../wire/lists/line-reader.ts';
import { parsePlantId, plantIdRule } from '../../../wire/plant-id.ts';
import { PlantId } from '../../../wire/schemas.ts';
import { choice, flag, type Parameter } from './parameters.ts';

const idsFrom: Parameter<bigint> = {
  description: 'for a list without ids: the id of its first record; each record gets one more than the record before',
  mustBe: plantIdRule,
  schema: PlantId,
  parse: parsePlantId,
};

const columns: Parameter<readonly Column[]> = {
  description: 'what the columns of CSV are, in place of a line that names them; empty for a column to ignore',
  mustBe: 'id, name and tag, each at most once, or nothing for a column to ignore, separated by commas',
  schema: Type.String(),
  parse: columnsIn,
};

export const importParameters = {
  existing: choice(
    'what becomes of a plant that exists and differs: it is kept, and the record refused, or it is replaced',
    ['keep', 'replace'],
  ),
  idsFrom,
  more: flag('whether the list goes on after this body; what is not complete is left for the next part'),
  columns,
  separator: choice(
    'what separates the cells of CSV; without it, the line that names the columns shows it',
    separators,
  ),
  check: flag('whether to store nothing, and only say what is refused by its form'),
};

function columnsIn(text: string): readonly Column[] | undefined {
  const all = text.split(',');
  const named = all.filter((column) => column !== '');
  const isKnown = named.every((column) => column === 'id' || column === 'name' || column === 'tag');
  return isKnown && new Set(named).size === named.length ? (all as Column[]) : undefined;
}
