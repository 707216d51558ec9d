import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { Client } from 'pg';

/** As pg reads them, all but `disable` and `no-verify` check the certificate and the host name. */
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Parameters that name files. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];

/** Why a file cannot be read, by Node.js's code. */
const UNREADABLE: Readonly<Record<string, string>> = {
  EACCES: 'is not readable by this user',
  EISDIR: 'is a folder',
  ENOENT: 'does not exist',
};

/** The query parameters that pg or this adapter reads from a URL and that this service does not set itself. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'application_name', 'options'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
];

/** The URL for pg, which warns at each `require`, `prefer` and `verify-ca` that it takes them for `verify-full`. */
export function urlForDriver(url: string): string {
  return url.replace(/(?<=[?&]sslmode=)(require|prefer|verify-ca)(?=&|$)/g, 'verify-full');
}

/** Which database it is, without the password. */
export function describe(url: string): string {
  // As pg parses it: a socket's folder, for example, is in its query.
  const { host, port, database } = new Client({ connectionString: urlForDriver(url) });
  return `Postgres at ${host}:${port}/${database}`;
}

const ONE_HOST =
  'must name one host, without target_session_attrs; ' +
  'several servers need a proxy or service that leads to the primary (docs/clusters.md)';

/** libpq's way to name several, whose passwords cannot be told from hosts where they are not encoded. */
const SEVERAL_HOSTS = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,[^@]*$/;

const EXAMPLE = 'must be a URL like postgres://user:password@host:5432/database';

const ENCODED =
  'must percent-encode special letters of its user, password and database, such as @ as %40, / as %2F and ? as %3F';

/**
 * A letter that ends a part of the URL, where it was meant for a password. What follows it would pass for a host or a
 * database, and errors name these. An unencoded @ alone does no harm here, but libpq reads it in another way.
 */
const UNENCODED = /^\w+:\/\/([^?]*[@/][^?]*@|.*#)/s;

/**
 * Finds what pg would reject at every connection, or silently ignore, in a Postgres URL. It does not connect.
 *
 * @returns the problem, in words that complete "<variable> ..." and never contain the password
 */
export function postgresUrlProblem(url: string): string | undefined {
  const { searchParams } = URL.parse(url) ?? {};
  // URL.parse also takes a URL without slashes, or with a space before it.
  if (!/^postgres(ql)?:\/\//i.test(url)) return EXAMPLE;
  if (/%00|\0/.test(url)) return 'must not have %00, which ends a text for Postgres';
  if (UNENCODED.test(url)) return ENCODED;
  if (SEVERAL_HOSTS.test(url) || searchParams?.has('target_session_attrs')) return ONE_HOST;
  if (searchParams === undefined) return `${EXAMPLE}, with special letters percent-encoded`;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    // After an unencoded ? in a password it is no parameter's name.
    if (url.slice(url.indexOf('?')).includes('@')) return ENCODED;
    return `must not have the parameter ${unknown}: only ${PARAMETERS.join(', ')} are known`;
  }
  // As in pg, the last value counts.
  const { sslmode, ...parameters } = Object.fromEntries(searchParams);
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode)) return `must have an sslmode of ${SSL_MODES.join(', ')}`;
  try {
    const { host, ssl } = new Client({ connectionString: urlForDriver(url) }) as {
      readonly host: string;
      readonly ssl?: boolean | ConnectionOptions;
    };
    // libpq's other forms of several hosts. pg would look up `a,b`, and use a single parameter of two.
    const named = [host, ...['host', 'port'].map((name) => searchParams.getAll(name).join())];
    if (named.some((name) => name.includes(','))) return ONE_HOST;
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // It ignores a file that is not a certificate, and the usual authorities would be trusted instead.
    if (ssl.ca !== undefined && !isCertificate(String(ssl.ca))) return 'must have a PEM certificate as its sslrootcert';
    return undefined;
  } catch (error) {
    if (error instanceof URIError) return ENCODED;
    const { code, message } = error as NodeJS.ErrnoException;
    const unreadable = FILES.map((name) => unreadableFile(name, parameters[name])).find((problem) => problem);
    if (unreadable !== undefined) return unreadable;
    if (code?.startsWith('ERR_OSSL')) return 'must have a PEM certificate as its sslcert, and its PEM key as sslkey';
    return `cannot be used: ${message}`;
  }
}

/** @returns why the file of a parameter cannot be read, in words; undefined if it can */
function unreadableFile(name: string, path: string | undefined): string | undefined {
  if (!path) return undefined;
  try {
    readFileSync(path);
    return undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return `must name a file that can be read as its ${name}: ${path} ${UNREADABLE[code] ?? `cannot (${code})`}`;
  }
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
