import { shown, visible } from '../formats/shown.ts';
import type { Layout } from '../lists/columns.js';

/** Which option says what a list does not show. */
const SAYS = {
  encoding: '--encoding NAME says it',
  sheet: '--sheet NAME says it',
  columns: '--columns id=Nr,name=Genus+Species,tag=4 says it, by names or numbers',
  header: '--header N says it, 0 that none does',
  'ids-from': '--columns id=... says which column is the id, or --ids-from N numbers the list',
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
