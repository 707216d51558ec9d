/** What a variable must be. */
export interface Rule<T> {
  /** Completes "NAME must be ...". */
  readonly mustBe: string;
  /** Returns undefined for invalid input, or throws an Error that says what is wrong with it. */
  readonly parse: (value: string) => T | undefined;
}

/** Reports what is wrong with several variables together. */
export interface Check {
  /** Whether the variable is set, perhaps to an invalid value. */
  isSet(name: string): boolean;
  /** Lets the reading fail for this reason, too. */
  problem(line: string): void;
}

function matching(pattern: RegExp, mustBe: string): Rule<string> {
  return { mustBe, parse: (text) => (pattern.test(text) ? text : undefined) };
}

/** A list of one item or more, separated by commas or line ends, unless by something else. */
function listOf<T>(mustBe: string, parse: (item: string) => T | undefined, separator = /[,\n]/): Rule<readonly T[]> {
  return {
    mustBe,
    parse(value) {
      const texts = value.split(separator).flatMap((item) => item.trim() || []);
      const items = texts.flatMap((text) => parse(text) ?? []);
      return items.length > 0 && items.length === texts.length ? items : undefined;
    },
  };
}

function oneOf<T>(values: Readonly<Record<string, T>>): Rule<T> {
  const parse = (text: string) => (Object.hasOwn(values, text) ? values[text] : undefined);
  return { mustBe: `one of ${Object.keys(values).join(', ')}`, parse };
}

function integer(noun: string, min: number, max: number): Rule<number> {
  return {
    mustBe: `${noun} from ${min} to ${max}`,
    parse: (value) => (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined),
  };
}

function quantity(noun: string, units: Record<string, number>, max: number): Rule<number> {
  const names = Object.keys(units);
  const pattern = new RegExp(`^([1-9]\\d{0,9})(${names.join('|')})$`);
  return {
    mustBe: `${noun}: a whole number above 0 and one of ${names.join(', ')}, like 10${names[1]}`,
    parse(text) {
      const [, count, unit] = pattern.exec(text.toLowerCase()) ?? [];
      const value = Number(count) * (units[unit ?? ''] ?? Number.NaN);
      return value <= max ? value : undefined;
    },
  };
}

const BYTES = { b: 1, kb: 1024, mb: 1024 ** 2 };

/** The most bytes that the bodies of all requests in progress may have together. */
export const REQUEST_BYTES_MAX = 64 * BYTES.mb;

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000 };

/** A timer of Node.js can wait for the sum of several: its longest time is 2^31 - 1 ms, which is 24 days. */
const time = quantity('a time of 1 day at most', MILLISECONDS, 24 * 60 * MILLISECONDS.m);

/** fetch sends no requests to URLs with credentials, and its errors, which are logged, repeat them. */
const httpUrl: Rule<string> = {
  mustBe: 'an http:// or https:// URL without a user and a password',
  parse(value) {
    const { protocol = '', username, password } = URL.parse(value) ?? {};
    return /^https?:$/.test(protocol) && username === '' && password === '' ? value : undefined;
  },
};

/** Matches the hosts of this machine, as URL spells them. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** An origin, exactly as browsers send it. */
function exactOrigin(origin: string): string | undefined {
  const { protocol, host } = URL.parse(origin) ?? {};
  return host !== '' && !origin.includes('*') && `${protocol}//${host}` === origin ? origin : undefined;
}

/** A JSON array is refused, since its brackets would become parts of names. */
const names = (noun: string) =>
  listOf(
    `one ${noun} or more, separated by commas or line ends, without spaces, quotation marks and brackets`,
    matching(/^[^\s"'[\]]+$/, '').parse,
  );

export const rules = {
  text: matching(/^/, 'a string'),
  integer,
  port: integer('a port number', 0, 65_535),
  /** The size of one body. */
  size: quantity(`a size of ${REQUEST_BYTES_MAX / BYTES.mb}mb at most`, BYTES, REQUEST_BYTES_MAX),
  time,
  timeOrZero: {
    mustBe: `0 or ${time.mustBe}`,
    parse: (text) => (text === '0' ? 0 : time.parse(text)),
  } satisfies Rule<number>,
  onOrOff: oneOf({ on: true, off: false }),
  trueOrFalse: oneOf({ true: true, false: false }),
  listOf,
  oneOf: (...texts: string[]) => oneOf(Object.fromEntries(texts.map((text) => [text, text]))),
  httpUrl,
  /** May have a user and a password. */
  proxyUrl: {
    mustBe: 'the http:// or https:// URL of a proxy',
    parse: (value) => (/^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : undefined),
  } satisfies Rule<string>,
  /** Whoever can tamper with keys or plants in transit can forge them, so plain HTTP is for this machine only. */
  httpsOrLoopbackUrl: {
    mustBe: 'an https:// URL, or an http:// URL of this machine, without a user and a password',
    parse(value) {
      const { protocol, hostname = '' } = URL.parse(value) ?? {};
      return protocol === 'https:' || LOOPBACK.test(hostname) ? httpUrl.parse(value) : undefined;
    },
  } satisfies Rule<string>,
  origins: {
    // Pages of any origin can send null, so it would permit as much as * does.
    mustBe:
      '* or origins separated by commas, each exactly as browsers send it, like https://app.example or ' +
      'capacitor://localhost; use * for pages whose origin is null',
    parse(value) {
      const origins = value.split(',').map((origin) => origin.trim());
      return value.trim() === '*' || origins.every(exactOrigin) ? origins : undefined;
    },
  } satisfies Rule<readonly string[]>,
  /** A token of any service. One that no header can carry is refused, since the error of fetch would repeat it. */
  bearerToken: matching(/^[!-~]+$/, 'one token, on one line'),
  /** The issuer that a signed token names, which is never a list. */
  issuer: matching(/^[^\s,]+$/, 'one issuer, not a list, so without commas and spaces'),
  audiences: names('audience'),
  claims: names('claim'),
  /** RFC 6749 section 3.3 also permits a comma, which is refused: several scopes were meant to be a list. */
  scope: matching(
    /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/,
    'one scope, without spaces, commas, quotation marks and backslashes',
  ),
};
