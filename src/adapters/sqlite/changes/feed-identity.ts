import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { NEW_IDENTITY } from '../file/schema.ts';

/** Ends all positions of consumers: for a file that was set back to a copy. */
export async function renewFeed({ sql, write }: Pick<DatabaseFile, 'sql' | 'write'>): Promise<void> {
  const renew = statement(sql, `update change_feed set store = ${NEW_IDENTITY}`);
  await write(() => renew.run());
}
