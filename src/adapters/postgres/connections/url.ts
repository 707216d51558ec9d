import { X509Certificate } from 'node:crypto';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** The query parameters that pg or this adapter reads from a URL and that this service does not set itself. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'application_name', 'options', 'connect_timeout', 'channel_binding'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
];

/** What each of these must be, where pg itself does not check it. */
const VALUES: Readonly<Record<string, [pattern: RegExp, mustBe: string]>> = {
  sslmode: [
    /^(disable|no-verify|prefer|require|verify-ca|verify-full)$/,
    'an sslmode of disable, no-verify, prefer, require, verify-ca, verify-full',
  ],
  channel_binding: [/^(disable|prefer|require)$/, 'a channel_binding of disable, prefer, require'],
  // Several are refused for what they mean.
  port: [/^[1-9]\d{0,4}$|,/, 'a port of digits, such as 5432'],
  connect_timeout: [/^[1-9]\d{0,4}$/, 'a connect_timeout of whole seconds, from 1 to 99999'],
};

/**
 * What pg needs to connect to a URL. It warns at each `require`, `prefer` and `verify-ca` that it takes them for
 * `verify-full`; would read a file called `system`, which is libpq's name for the usual authorities; and has no parameter
 * for the binding of SCRAM to the TLS channel.
 */
export function driverConfig(url: string): ClientConfig {
  const connectionString = url
    .replace(/(?<=[?&])sslrootcert=system(?=&|$)/g, 'sslmode=verify-full')
    .replace(/(?<=[?&]sslmode=)(require|prefer|verify-ca)(?=&|$)/g, 'verify-full');
  const binding = parameters(url).get('channel_binding') ?? 'disable';
  // Parsed here, as by pg itself, which would read the files of certificates for each connection, also where no caller could
  // be told that they cannot be read: in the middle of the pool.
  return { ...parseIntoClientConfig(connectionString), enableChannelBinding: binding !== 'disable' };
}

function parameters(url: string): URLSearchParams {
  return parse(url)?.searchParams ?? new URLSearchParams();
}

/** libpq and pg also take a user without a host, whose address is then the parameter `host`. */
function parse(url: string): URL | null {
  return URL.parse(url) ?? URL.parse(url.replace('@/', '@host/'));
}

const ONE_HOST =
  'must name one host, without target_session_attrs; ' +
  'several servers need a proxy or service that leads to the primary (docs/clusters.md)';

/** libpq's way to name several, whose passwords cannot be told from hosts where they are not encoded. */
const SEVERAL_HOSTS = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,[^@]*$/;

const EXAMPLE = 'must be a URL like postgres://user:password@host:5432/database';

const ENCODED =
  'must percent-encode special letters of its user, password and database, such as @ as %40, / as %2F and ? as %3F';

/** A letter that ends a part of the URL, meant for a password: what follows would pass for a host, which errors name. */
const UNENCODED = /^\w+:\/\/([^?]*[@/][^?]*@|.*#)/s;

/**
 * Reads a URL of the configuration, without connecting.
 *
 * @returns `problem`, what pg would reject at every connection, or silently ignore, in words that complete "<variable> ..."
 * and never contain the password, if there is anything; `connectTimeout`, the milliseconds of libpq's parameter, if given
 */
export function readUrl(url: string) {
  const seconds = parameters(url).get('connect_timeout');
  return { problem: problemIn(url), connectTimeout: seconds ? Number(seconds) * 1_000 : undefined };
}

function problemIn(url: string): string | undefined {
  const { searchParams } = parse(url) ?? {};
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
  const given = Object.fromEntries(searchParams);
  for (const [name, value] of Object.entries(given)) {
    const [pattern, mustBe] = VALUES[name] ?? [/^/, ''];
    if (!pattern.test(value)) return `must have ${mustBe}`;
  }
  const { sslmode = '', sslrootcert } = given;
  if (sslrootcert === 'system' && /^(disable|no-verify)$/.test(sslmode)) {
    return 'must have an sslmode of verify-full where sslrootcert is system, or none';
  }
  try {
    const { host, ssl } = new Client(driverConfig(url)) as {
      readonly host: string;
      readonly ssl?: boolean | ConnectionOptions;
    };
    // libpq's other forms of several hosts. pg would look up `a,b`, and use a single parameter of two.
    const named = [host, ...['host', 'port'].map((name) => searchParams.getAll(name).join())];
    if (named.some((name) => name.includes(','))) return ONE_HOST;
    if (typeof ssl !== 'object') return undefined;
    createSecureContext(ssl);
    // Of an authority it ignores what is not a certificate, and the usual ones would be trusted instead.
    if (ssl.ca !== undefined) new X509Certificate(String(ssl.ca));
    return undefined;
  } catch (error) {
    if (error instanceof URIError) return ENCODED;
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_OSSL')) {
      return 'must have a PEM certificate as its sslrootcert or sslcert, and the PEM key of the latter as its sslkey';
    }
    return syscall === undefined ? `cannot be used: ${message}` : `must name files that can be read: ${message}`;
  }
}
