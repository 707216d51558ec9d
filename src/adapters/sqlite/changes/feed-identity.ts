import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { NEW_IDENTITY } from '../file/schema.ts';

/** Ends all positions of consumers: for a file that was set back to a copy. */
export function renewFeed({ sql }: Pick<DatabaseFile, 'sql'>): void {
  statement(sql, `update change_feed set store = ${NEW_IDENTITY}`).run();
}
