import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { ConnectionError, sqlState } from '../errors.ts';
import { routineOf } from '../failures.ts';

const OTHER_TABLE =
  'this is not what the migrations create: run npm run migrate, which adds what is missing. ' +
  "If that does not help, restore or fix the table plants, or set the database's URL to a separate database";

/** The function of Postgres that refuses what row-level security would hide, with the SQLSTATE of a missing privilege. */
const CHECKS_ROW_SECURITY = 'check_enable_rls';

const ROW_SECURITY = 'run ALTER TABLE ... DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS';

const READ_ONLY = '25006';

const READ_ONLY_PRIMARY =
  'the server is the primary, but default_transaction_read_only is on, as managed services set it when the disk is full: ' +
  'make room there, or switch it off for the server, the database or the role';

/** Advice for operators by SQLSTATE (PostgreSQL's appendix A). The URL is DATABASE_URL or MIGRATION_DATABASE_URL. */
const ADVICE: Readonly<Record<string, string>> = {
  '22003': OTHER_TABLE,
  [READ_ONLY]: "the server is read-only; point the database's URL at the primary",
  '28000': "fix the user in the database's URL, or its entry in pg_hba.conf",
  '28P01': "fix the user and the password in the database's URL",
  '3D000': "create it, or fix the database's URL",
  '42501':
    'the service needs SELECT on kysely_migration and change_feed, UPDATE (store, recorded) on change_feed, and ' +
    'SELECT, INSERT and UPDATE on plants and webhooks; ' +
    'migrations and npm run purge need the owner: docs/postgres.md has the statements',
  '42703': OTHER_TABLE,
  '42804': OTHER_TABLE,
  '42P01': OTHER_TABLE,
  '42P10': OTHER_TABLE,
  '53300': 'lower POOL_SIZE of the instances, or raise max_connections',
};

/** What Postgres (before 14, and since), PgBouncer, Azure and Neon say of a connection without TLS. */
const WITHOUT_TLS = /SSL off|no encryption|SSL required|SSL connection is required|connection is insecure/;
const NEEDS_TLS = "add ?sslmode=require to the database's URL, since the server may demand TLS";

const NOT_REACHED = "is Postgres running there? Otherwise fix the database's URL";
const AUTHORITY = "name the PEM file of the server's certificate authority as sslrootcert in the database's URL";

/** Advice on connections that cannot be opened, by what Node.js and pg say of them. */
const CONNECTION_ADVICE: readonly [message: RegExp, advice: string][] = [
  [
    /^(connect|getaddrinfo) (ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT)\b/,
    NOT_REACHED,
  ],
  [/^Connection terminated due to connection timeout$/, `nothing has responded within CONNECT_TIMEOUT: ${NOT_REACHED}`],
  [
    /^The server does not support SSL connections$/,
    "switch TLS on in Postgres, or take sslmode out of the database's URL",
  ],
  [/^(self-signed certificate|unable to (verify the first certificate|get (local )?issuer certificate))/, AUTHORITY],
  [
    /^Hostname\/IP does not match certificate's altnames/,
    "name a host of the server's certificate in the database's URL",
  ],
];

/** Adds advice to the message of an error of Postgres or of connecting, if there is any. @returns the same error */
export function withAdvice(error: unknown): unknown {
  const state = sqlState(error);
  if (routineOf(error) === CHECKS_ROW_SECURITY) return advised(error, ROW_SECURITY);
  if (state === undefined) return advised(error, connectionAdvice(error));
  const isWithoutTls = WITHOUT_TLS.test((error as Error).message);
  return advised(error, isWithoutTls ? [NEEDS_TLS, ADVICE[state]].filter(Boolean).join('; otherwise ') : ADVICE[state]);
}

/**
 * The same for what a server may refuse because it is read-only: a standby says no other words than a primary.
 *
 * @param isReadOnlyPrimary what the function of this name has found
 */
export function withServerAdvice(error: unknown, isReadOnlyPrimary: boolean): unknown {
  return isReadOnlyPrimary && sqlState(error) === READ_ONLY ? advised(error, READ_ONLY_PRIMARY) : withAdvice(error);
}

/** Whether the server is a primary that takes no writes; false if it does not say. */
export async function isReadOnlyPrimary(database: Database): Promise<boolean> {
  const query = sql<{ is: boolean }>`
    select not pg_is_in_recovery() and current_setting('default_transaction_read_only')::boolean as is
  `;
  const { rows } = await query.execute(database.sql).catch(() => ({ rows: [] }));
  return rows.some(({ is }) => is);
}

function advised(error: unknown, advice: string | undefined): unknown {
  if (advice === undefined || !(error instanceof Error) || error.message.endsWith(advice)) return error;
  return Object.assign(error, { message: `${error.message}: ${advice}` });
}

function connectionAdvice(error: unknown): string | undefined {
  if (!(error instanceof ConnectionError)) return undefined;
  return CONNECTION_ADVICE.find(([pattern]) => pattern.test(error.message))?.[1];
}
