import { shown, visible } from '../formats/shown.ts';
import type { Layout } from '../lists/columns.js';

/** Which option says what a list does not show. */
const SAYS = {
  encoding: 'Give it as --encoding NAME.',
  sheet: 'Give it as --sheet NAME.',
  columns: 'Give them by names or numbers, as in --columns id=Nr,name=Genus+Species,tag=4.',
  header: 'Give its number as --header N, or --header 0 if there is none.',
  'ids-from': 'Name the column of ids in --columns id=..., or number the list with --ids-from N.',
};

/** @throws Error of the reader, with the option that says what the list does not show */
export async function asking<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { message, cause } = error as Error;
    const lines = [...message.split('\n').map(visible), SAYS[cause as keyof typeof SAYS] ?? ''];
    throw new Error(lines.join('\n').trimEnd());
  }
}

/** What the columns of a list were taken for. */
export function columnsOf({ header, names, id, name, tag }: Layout): string {
  const call = (columns: readonly number[]) => columns.map((n) => shown(names[n] ?? '')).join(' and ');
  const roles = Object.entries({ id: [id], name, tag: [tag] }).filter(([, [first = -1]]) => first >= 0);
  const taken = roles.map(([role, columns]) => `${call(columns)} is the ${role}`).join(', ');
  const ignored = names.flatMap((own, n) => (own === '' || [id, tag, ...name].includes(n) ? [] : shown(own)));
  const rest = ignored.length > 0 ? `, and nothing is ${ignored.join(', ')}` : '';
  return `${header === 0 ? 'No row' : `Row ${header}`} names the columns: ${taken}${rest}.`;
}
