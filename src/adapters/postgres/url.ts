import { X509Certificate } from 'node:crypto';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { Client } from 'pg';

/** Every one of them but `disable` and `no-verify` checks the certificate and the host name, as pg reads them today. */
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * What pg would find wrong with a Postgres URL at every connection, or never. It connects to nothing.
 *
 * @returns what is wrong, in words that complete "<variable> ..." and never tell the password
 */
export function postgresUrlProblem(url: string): string | undefined {
  // As pg does it: the last one counts.
  const { sslmode } = Object.fromEntries(new URL(url).searchParams);
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode)) return `must have an sslmode of ${SSL_MODES.join(', ')}`;
  try {
    const { ssl } = new Client({ connectionString: url }) as { readonly ssl?: boolean | ConnectionOptions };
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // That passes over what is no certificate, and the usual authorities would be trusted instead.
    if (ssl.ca !== undefined && !isCertificate(String(ssl.ca))) return 'must have a PEM certificate as its sslrootcert';
    return undefined;
  } catch (error) {
    return `cannot be used: ${(error as Error).message}`;
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
