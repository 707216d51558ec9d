import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/**
 * The configuration that pg needs to connect to a URL. pg warns at each `require`, `prefer` and `verify-ca` that it treats
 * them as `verify-full`; would read a file called `system`, which is libpq's name for the usual authorities; and has no
 * parameter for the binding of SCRAM to the TLS channel.
 */
export function driverConfig(url: string): ClientConfig {
  const connectionString = url
    .replace(/(?<=[?&])sslrootcert=system(?=&|$)/g, 'sslmode=verify-full')
    .replace(/(?<=[?&]sslmode=)(require|prefer|verify-ca)(?=&|$)/g, 'verify-full');
  // Parsed here, since pg itself would read the files of certificates for each connection, in the pool, where no caller could
  // learn that they cannot be read. Other parameters would be options of pg.
  const { user, password, host, port, database, ssl, options } = parseIntoClientConfig(connectionString);
  const enableChannelBinding = /[?&]channel_binding=(?!disable(&|$))/.test(url);
  return { user, password, host, port, database, ssl, options, enableChannelBinding };
}

/** One host, and no delimiter within a part: the rest of a password behind a delimiter would pass for a host. */
const FORM = /^postgres(ql)?:\/\/([^@/?#]*@)?[^@/?#,]*(\/[^@/?#]*)?(\?[^@#]*)?$/i;

const EXAMPLE =
  'must be a URL like postgres://user:password@host:5432/database, with one host (docs/clusters.md) and with special ' +
  'letters percent-encoded, such as @ as %40, / as %2F and ? as %3F';

/** The modes that do not check the certificate. */
const UNCHECKED = ['disable', 'no-verify'];

const MODES = [...UNCHECKED, 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Checks a configured URL, without connecting. The first connection reports other problems.
 *
 * @returns the problem, in words that complete "<variable> ..." and never contain the password; undefined for none
 */
export function urlProblem(url: string): string | undefined {
  if (!FORM.test(url)) return EXAMPLE;
  const parameters = new URLSearchParams(url.replace(/^[^?]*/, ''));
  const modes = parameters.getAll('sslmode');
  if (modes.some((mode) => !MODES.includes(mode))) return `must have an sslmode of ${MODES.join(', ')}`;
  if (parameters.has('sslrootcert', 'system') && modes.some((mode) => UNCHECKED.includes(mode))) {
    return `must not have an sslmode of ${UNCHECKED.join(', ')} with sslrootcert=system`;
  }
  try {
    const { ssl } = driverConfig(url);
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // pg ignores a file that is no certificate, and would trust the usual authorities instead.
    if (ssl.ca !== undefined) new X509Certificate(String(ssl.ca));
    return undefined;
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall !== undefined) return `must name files that can be read: ${message}`;
    if (!code?.startsWith('ERR_OSSL')) return EXAMPLE;
    return 'must have a PEM certificate as its sslrootcert or sslcert, and the PEM key of the latter as its sslkey';
  }
}
