import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { parseIntoClientConfig } from 'pg-connection-string';

/** One host, and no delimiter within a part: the rest of a password behind a delimiter would pass for a host. */
const FORM = /^postgres(ql)?:\/\/([^@/?#]*@)?[^@/?#,]*(\/[^@/?#]*)?(\?[^@#]*)?$/i;

const EXAMPLE =
  'must be a URL like postgres://user:password@host:5432/database, with one host (docs/clusters.md) and with special ' +
  'letters percent-encoded, such as @ as %40, / as %2F and ? as %3F';

/** The modes that do not check the certificate. */
const UNCHECKED_MODES = ['disable', 'no-verify'];

const MODES = [...UNCHECKED_MODES, 'prefer', 'require', 'verify-ca', 'verify-full'];

/** The parameters for TLS that count. The driver would pass over others, and connect without TLS. */
const TLS_PARAMETER = /^(ssl=(true|false|1|0)$|ssl(mode|rootcert|cert|key|negotiation)=.)/;

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
  if (parameters.has('sslrootcert', 'system') && modes.some((mode) => UNCHECKED_MODES.includes(mode))) {
    return `must not have an sslmode of ${UNCHECKED_MODES.join(', ')} with sslrootcert=system`;
  }
  if ([...parameters].some(([name, value]) => /ssl|libpq/i.test(name) && !TLS_PARAMETER.test(`${name}=${value}`))) {
    return 'must have for TLS only sslmode, sslrootcert, sslcert, sslkey, sslnegotiation and ssl=true, each with a value';
  }
  try {
    const { ssl } = parseIntoClientConfig(canonicalUrl(url));
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

/**
 * The URL with one spelling for all that checks the certificate and the name of the host. The driver would warn at each
 * `require`, `prefer` and `verify-ca`, and would read a file called `system`, libpq's name for the usual authorities.
 */
export const canonicalUrl = (url: string) =>
  url.replace(/(?<=[?&])(sslrootcert=system|sslmode=(require|prefer|verify-ca))(?=&|$)/g, 'sslmode=verify-full');
