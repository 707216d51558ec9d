import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/**
 * What pg needs to connect to a URL. It warns at each `require`, `prefer` and `verify-ca` that it takes them for
 * `verify-full`; would read a file called `system`, which is libpq's name for the usual authorities; and has no parameter
 * for the binding of SCRAM to the TLS channel.
 */
export function driverConfig(url: string): ClientConfig {
  const connectionString = url
    .replace(/(?<=[?&])sslrootcert=system(?=&|$)/g, 'sslmode=verify-full')
    .replace(/(?<=[?&]sslmode=)(require|prefer|verify-ca)(?=&|$)/g, 'verify-full');
  // Parsed here, as by pg itself, which would read the files of certificates for each connection, also where no caller could
  // be told that they cannot be read: in the middle of the pool. Other parameters would be options of pg.
  const { user, password, host, port, database, ssl, options } = parseIntoClientConfig(connectionString);
  const enableChannelBinding = /[?&]channel_binding=(?!disable(&|$))/.test(url);
  return { user, password, host, port, database, ssl, options, enableChannelBinding };
}

/** With one host, and no letter within a part that ends it: what follows, meant for a password, would pass for a host. */
const FORM = /^postgres(ql)?:\/\/([^@/?#]*@)?[^@/?#,]*(\/[^@/?#]*)?(\?[^@#]*)?$/i;

const EXAMPLE =
  'must be a URL like postgres://user:password@host:5432/database, with one host (docs/clusters.md) and with special ' +
  'letters percent-encoded, such as @ as %40, / as %2F and ? as %3F';

/** Without a check of the certificate. */
const UNCHECKED = ['disable', 'no-verify'];

const MODES = [...UNCHECKED, 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Reads a URL of the configuration, without connecting. What else is wrong with it, the first connection says.
 *
 * @returns what is wrong, in words that complete "<variable> ..." and never contain the password, if anything is
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
    // Of an authority it ignores what is not a certificate, and the usual ones would be trusted instead.
    if (ssl.ca !== undefined) new X509Certificate(String(ssl.ca));
    return undefined;
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (syscall !== undefined) return `must name files that can be read: ${message}`;
    if (!code?.startsWith('ERR_OSSL')) return EXAMPLE;
    return 'must have a PEM certificate as its sslrootcert or sslcert, and the PEM key of the latter as its sslkey';
  }
}
