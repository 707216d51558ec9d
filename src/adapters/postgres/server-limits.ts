import { type Kysely, sql } from 'kysely';
import type { Tables } from './database.ts';
import { SchemaError } from './errors.ts';

/** A pooler may drop start-up parameters without a word. @throws SchemaError, saying what to do, if a limit is missing */
export async function requireServerLimits(database: Kysely<Tables>, statementTimeout: number): Promise<void> {
  const { rows } = await sql<{ role: string; statement: string; lock: string }>`
    select quote_ident(current_user) as role,
      current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock
  `.execute(database);
  const [{ role, statement, lock } = { role: '', statement: '0', lock: '0' }] = rows;
  if (statement !== '0' && lock !== '0') return;
  throw new SchemaError(
    `statement_timeout is ${statement} and lock_timeout is ${lock} for this role through this pooler, so a statement ` +
      `could wait for ever: run ALTER ROLE ${role} SET statement_timeout = '${statementTimeout}ms' and ` +
      `ALTER ROLE ${role} SET lock_timeout = '${statementTimeout}ms', and let the pooler connect anew`,
  );
}
