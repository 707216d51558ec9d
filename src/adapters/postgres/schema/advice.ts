import { ConnectionError, failureOf } from '../failures.ts';

const OTHER_TABLE =
  'this is not what the migrations create: run npm run migrate, which adds what is missing. ' +
  "If that does not help, restore or fix the table plants, or set the database's URL to a separate database";

const NOT_REACHED = "is Postgres running there? Otherwise fix the database's URL";

/**
 * Advice for operators, by the beginning of an error: its SQLSTATE (PostgreSQL's appendix A), the function that throws it and
 * its message, or, for a connection that cannot be opened, the message of Node.js or pg. The URL is DATABASE_URL or
 * MIGRATION_DATABASE_URL.
 */
const ADVICE: Readonly<Record<string, string>> = {
  // Refusals of connections without TLS by Postgres before 14 and since, PgBouncer, Azure and Neon.
  '\\w{5} .*(SSL off|no encryption|SSL required|SSL connection is required|connection is insecure)':
    "add ?sslmode=require to the database's URL, since the server may demand TLS",
  '(22003|42703|42804|42P01|42P10) ': OTHER_TABLE,
  '25006 ':
    "the server is read-only: point the database's URL at the primary. If it is the primary, make room on its disk, since " +
    'managed services make a server with a full one read-only, or switch default_transaction_read_only off',
  '28000 ': "fix the user in the database's URL, or its entry in pg_hba.conf",
  '28P01 ': "fix the user and the password in the database's URL",
  '3D000 ': "create it, or fix the database's URL",
  // A session with `row_security` off refuses to let policies hide rows.
  '42501 check_enable_rls ': 'run ALTER TABLE ... DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS',
  '42501 (?!check_enable_rls )':
    'for the service, run as the owner GRANT SELECT, INSERT, UPDATE ON plants, webhooks TO ...; ' +
    'GRANT SELECT ON kysely_migration, change_feed TO ...; GRANT UPDATE (store, recorded) ON change_feed TO ...; ' +
    'migrations and npm run purge need the owner itself',
  '53300 ': 'lower POOL_SIZE of the instances, or raise max_connections',
  '(connect|getaddrinfo) (ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT)\\b': NOT_REACHED,
  'Connection terminated due to connection timeout': `nothing has responded in time: ${NOT_REACHED}`,
  'The server does not support SSL connections': "switch TLS on in Postgres, or take sslmode out of the database's URL",
  '(self-signed certificate|unable to (verify the first certificate|get (local )?issuer certificate))':
    "name the PEM file of the server's certificate authority as sslrootcert in the database's URL",
  "Hostname/IP does not match certificate's altnames": "name a host of the server's certificate in the database's URL",
};

/** An error with advice in its message, if it is one of Postgres or of connecting for which there is any. */
export function withAdvice(error: unknown): Error {
  const original = error as Error;
  const { state, routine } = failureOf(error);
  if (state === undefined && !(error instanceof ConnectionError)) return original;
  const text = state === undefined ? original.message : `${state} ${routine} ${original.message}`;
  const matches = Object.entries(ADVICE).filter(([beginning]) => new RegExp(`^${beginning}`).test(text));
  if (matches.length === 0) return original;
  const advice = matches.map(([, words]) => words).join('; otherwise ');
  return Object.assign(new Error(`${original.message}: ${advice}`, { cause: error }), { code: state });
}
