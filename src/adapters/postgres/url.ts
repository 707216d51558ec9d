import { X509Certificate } from 'node:crypto';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { Client } from 'pg';

/** In pg's present reading, all but `disable` and `no-verify` check the certificate and the host name. */
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** The query parameters that pg reads from a URL and that this service does not set itself. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'application_name', 'options'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
];

/**
 * Finds what pg would reject at every connection, or silently ignore, in a Postgres URL. It does not connect.
 *
 * @returns the problem, in words that complete "<variable> ..." and never contain the password
 */
export function postgresUrlProblem(url: string): string | undefined {
  if (namesSeveralHosts(url)) return 'must name one host: the address that leads to the primary, for example a proxy';
  const { protocol, searchParams } = URL.parse(url) ?? {};
  if (searchParams === undefined || !/^postgres(ql)?:$/.test(protocol ?? '')) {
    return 'must be a URL like postgres://user:password@host:5432/database';
  }
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    // After an unescaped ? in a password it is not a parameter's name.
    const isName = /^[a-z_]+$/.test(unknown) && !url.slice(url.indexOf('?')).includes('@');
    const which = isName ? `the parameter ${unknown}` : 'other parameters (a ? in a password is written %3F)';
    return `must not have ${which}: only ${PARAMETERS.join(', ')} are known`;
  }
  // As in pg, the last one counts.
  const { sslmode } = Object.fromEntries(searchParams);
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode)) return `must have an sslmode of ${SSL_MODES.join(', ')}`;
  try {
    const { ssl } = new Client({ connectionString: url }) as { readonly ssl?: boolean | ConnectionOptions };
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // It ignores what is not a certificate, and the usual authorities would be trusted instead.
    if (ssl.ca !== undefined && !isCertificate(String(ssl.ca))) return 'must have a PEM certificate as its sslrootcert';
    return undefined;
  } catch (error) {
    return `cannot be used: ${(error as Error).message}`;
  }
}

/** In libpq's forms, which URL parsing covers only in part: `a:1,b:2` and `?host=a,b`. */
function namesSeveralHosts(url: string): boolean {
  const authority = /^\w+:\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  const host = URL.parse(url)?.searchParams.getAll('host').join() ?? '';
  return `${authority.slice(authority.lastIndexOf('@') + 1)}${host}`.includes(',');
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
