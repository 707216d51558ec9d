import { SchemaError, sqlState } from './errors.ts';

const OTHER_TABLE =
  "the table plants is not what the migrations make: mend it, or set the database's URL to a database of its own";

/** What an operator can do, by SQLSTATE (PostgreSQL's appendix A). The URL is DATABASE_URL or MIGRATION_DATABASE_URL. */
const ADVICE: Readonly<Record<string, string>> = {
  '22003': OTHER_TABLE,
  '25006': "it takes no plants; point the database's URL at the primary",
  '28000': "mend the user in the database's URL, or what pg_hba.conf says of it",
  '28P01': "mend the user and the password in the database's URL",
  '3D000': "create it, or mend the database's URL",
  '42501':
    'the service needs SELECT on kysely_migration, and SELECT and INSERT on plants; ' +
    'migrations need the owner: docs/security.md has the statements',
  '42703': OTHER_TABLE,
  '42804': OTHER_TABLE,
  '42P01': OTHER_TABLE,
  '42P07': "these migrations did not make it; nothing is changed. Set the database's URL to a database of its own",
  '42P10': OTHER_TABLE,
  '53300': 'lower POOL_SIZE of the instances, or raise max_connections',
};

/** The same error, its message made complete for people: what is wrong and, if Postgres said it, what to do. */
export function advised(error: unknown): unknown {
  const advice = ADVICE[sqlState(error) ?? ''];
  return advice === undefined ? error : new SchemaError(`${(error as Error).message}: ${advice}`, { cause: error });
}
