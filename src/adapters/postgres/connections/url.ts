import { X509Certificate } from 'node:crypto';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { Client } from 'pg';

/** As pg reads them, all but `disable` and `no-verify` check the certificate and the host name. */
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** libpq's names for a server that takes writes; `primary` without a difference here, since the service writes. */
const READ_WRITE = ['read-write', 'primary'];

/** The query parameters that pg or this adapter reads from a URL and that this service does not set itself. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'application_name', 'options', 'target_session_attrs'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
];

/** Splits a URL like `postgres://user@a:1,b:2/plants` into one for each host, which pg can use. */
export function singleHostUrls(url: string): readonly [string, ...string[]] {
  const [, start = '', hosts = '', end = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const [first = '', ...others] = hosts.split(',').map((host) => `${start}${host}${end}`);
  return others.length > 0 ? [first, ...others] : [url];
}

/** Whether a URL without a problem asks for a server that takes writes. */
export function requiresReadWrite(url: string): boolean {
  return URL.parse(singleHostUrls(url)[0])?.searchParams.has('target_session_attrs') ?? false;
}

/** The host and port of a URL with one host, as pg parses it: a socket's folder, for example, is in its query. */
export function addressOf(url: string): string {
  const { host, port } = new Client({ connectionString: url });
  return `${host}:${port}`;
}

/** Which database it is, without the password. */
export function describe(urls: readonly [string, ...string[]]): string {
  const { database } = new Client({ connectionString: urls[0] });
  return `Postgres at ${urls.map(addressOf).join()}/${database}`;
}

/**
 * Finds what pg would reject at every connection, or silently ignore, in a Postgres URL. It does not connect.
 *
 * @returns the problem, in words that complete "<variable> ..." and never contain the password
 */
export function postgresUrlProblem(url: string): string | undefined {
  const urls = singleHostUrls(url);
  const problem = urls.map(singleHostProblem).find((one) => one !== undefined);
  if (problem !== undefined || urls.length === 1) return problem;
  const parsed = urls.map((one) => new URL(one));
  if (parsed.some(({ hostname, searchParams }) => hostname === '' || searchParams.has('host'))) return SEVERAL_HOSTS;
  if (requiresReadWrite(url)) return undefined;
  return (
    'must have target_session_attrs=read-write if it names several hosts: ' +
    'the first may be a standby, which takes no writes'
  );
}

const SEVERAL_HOSTS =
  'must name several hosts like ' +
  'postgres://user:password@host1:5432,host2:5432/database?target_session_attrs=read-write';

const EXAMPLE = 'must be a URL like postgres://user:password@host:5432/database';

const ENCODED =
  'must percent-encode special letters of its user, password and database, such as @ as %40, / as %2F and ? as %3F';

/**
 * A letter that ends a part of the URL, where it was meant for a password. What follows it would pass for a host or a
 * database, and errors name these. An unencoded @ alone does no harm here, but libpq reads it in another way.
 */
const UNENCODED = /^\w+:\/\/([^?]*[@/][^?]*@|.*#)/s;

function singleHostProblem(url: string): string | undefined {
  const { searchParams } = URL.parse(url) ?? {};
  // URL.parse also takes one without slashes, or with a space before it.
  if (!/^postgres(ql)?:\/\//i.test(url)) return EXAMPLE;
  if (UNENCODED.test(url)) return ENCODED;
  if (searchParams === undefined) return `${EXAMPLE}, with special letters percent-encoded`;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    // After an unencoded ? in a password it is no parameter's name.
    if (url.slice(url.indexOf('?')).includes('@')) return ENCODED;
    return `must not have the parameter ${unknown}: only ${PARAMETERS.join(', ')} are known`;
  }
  // As in pg, the last one counts.
  const { sslmode, target_session_attrs: attributes } = Object.fromEntries(searchParams);
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode)) return `must have an sslmode of ${SSL_MODES.join(', ')}`;
  if (attributes !== undefined && !READ_WRITE.includes(attributes)) {
    return `must have a target_session_attrs of ${READ_WRITE.join(' or ')}, since the service writes`;
  }
  try {
    const { host, ssl } = new Client({ connectionString: url }) as {
      readonly host: string;
      readonly ssl?: boolean | ConnectionOptions;
    };
    // libpq's other forms of several hosts. pg would look up `a,b`, and use one of two parameters.
    const named = [host, ...['host', 'port'].map((name) => searchParams.getAll(name).join())];
    if (named.some((name) => name.includes(','))) return SEVERAL_HOSTS;
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // It ignores what is not a certificate, and the usual authorities would be trusted instead.
    if (ssl.ca !== undefined && !isCertificate(String(ssl.ca))) return 'must have a PEM certificate as its sslrootcert';
    return undefined;
  } catch (error) {
    return error instanceof URIError ? ENCODED : `cannot be used: ${(error as Error).message}`;
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
