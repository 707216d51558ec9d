import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Below this, operators have to act: a busy server may use up so many in some hours. */
const FEW = 100_000_000;

/** Postgres's ids wrap around after 2^31 transactions; it keeps the last three million for an administrator. */
const USABLE = 2 ** 31 - 3_000_000;

/** How many more transactions that write Postgres takes, and the database that it has to vacuum first to take more. */
async function remaining({ sql: database }: Database): Promise<{ readonly left: number; readonly oldest: string }> {
  const { rows } = await sql<{ age: number; oldest: string }>`
    select age(datfrozenxid) as age, datname as oldest from pg_database order by 1 desc limit 1
  `.execute(database);
  const [{ age, oldest } = { age: 0, oldest: '' }] = rows;
  return { left: Math.max(0, USABLE - age), oldest };
}

/** How many more transactions that write Postgres takes until it has vacuumed. */
export async function transactionIdsLeft(database: Database): Promise<number> {
  return (await remaining(database)).left;
}

/** Says, in words, that they are few. */
export async function wraparoundProblem(database: Database): Promise<string | undefined> {
  const { left, oldest } = await remaining(database);
  if (left >= FEW) return undefined;
  const many = left === 0 ? 'no' : `fewer than ${Math.ceil(left / 1e6)} million`;
  return (
    `Postgres takes ${many} more transactions: vacuum the database ${oldest} as its owner, ` +
    'and end what holds that up (long or prepared transactions, replication slots)'
  );
}
