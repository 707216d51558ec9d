import { SchemaError, sqlState } from './errors.ts';

const OTHER_TABLE =
  "the table plants is not what the migrations create: fix it, or set the database's URL to a separate database";

/** Advice for operators by SQLSTATE (PostgreSQL's appendix A). The URL is DATABASE_URL or MIGRATION_DATABASE_URL. */
const ADVICE: Readonly<Record<string, string>> = {
  '22003': OTHER_TABLE,
  '25006': "the server is read-only; point the database's URL at the primary",
  '28000': "fix the user in the database's URL, or its entry in pg_hba.conf",
  '28P01': "fix the user and the password in the database's URL",
  '3D000': "create it, or fix the database's URL",
  '42501':
    'the service needs SELECT on kysely_migration and change_feed, and SELECT, INSERT and UPDATE on plants; ' +
    'migrations and npm run purge need the owner: docs/security.md has the statements',
  '42703': OTHER_TABLE,
  '42804': OTHER_TABLE,
  '42P01': OTHER_TABLE,
  '42P07': "these migrations did not create it; nothing was changed. Set the database's URL to a separate database",
  '42P10': OTHER_TABLE,
  '53300': 'lower POOL_SIZE of the instances, or raise max_connections',
};

/** Adds advice to the message of a Postgres error if there is any; returns other errors unchanged. */
export function withAdvice(error: unknown): unknown {
  const advice = ADVICE[sqlState(error) ?? ''];
  return advice === undefined ? error : new SchemaError(`${(error as Error).message}: ${advice}`, { cause: error });
}
