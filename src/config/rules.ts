import { TOKEN } from '../adapters/auth/static-tokens.ts';
import { isLoopback } from '../adapters/http/loopback.ts';

export interface Rule<T> {
  /** Its wording for errors. */
  readonly mustBe: string;
  /** Returns undefined for invalid input, or throws an Error that says what is wrong with it. */
  readonly parse: (value: string) => T | undefined;
}

/**
 * Parses a list whose items are separated by commas or line ends, unless by something else.
 *
 * @returns undefined if it is empty or an item is invalid
 */
export function listOf<T>(value: string, parse: (item: string) => T | undefined, separator = /[,\n]/): T[] | undefined {
  const items = value.split(separator).map((item) => item.trim());
  const present = items.filter((item) => item !== '');
  const list = present.flatMap((item) => parse(item) ?? []);
  return list.length > 0 && list.length === present.length ? list : undefined;
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

/** Most bytes in all bodies together. */
export const MAX_REQUEST_BYTES = 64 * BYTES.mb;

const TIMES = { ms: 1, s: 1_000, m: 60_000 };

/** A few of them together are no longer than a timer of Node.js can wait: 2^31 - 1 ms, which is 24 days. */
const time = quantity('a time of 1 day at most', TIMES, 24 * 60 * TIMES.m);

function oneOf(...values: string[]): Rule<string> {
  const parse = (text: string) => values.find((value) => value === text);
  return { mustBe: `one of ${values.join(', ')}`, parse };
}

/** fetch sends no requests to URLs with credentials, and its errors, which are logged, repeat them. */
const httpUrl: Rule<string> = {
  mustBe: 'an http:// or https:// URL without a user and a password',
  parse(value) {
    const { protocol = '', username, password } = URL.parse(value) ?? {};
    return /^https?:$/.test(protocol) && username === '' && password === '' ? value : undefined;
  },
};

/** Perhaps with a name. */
const NAMED_TOKEN = new RegExp(`^([a-z0-9._-]{1,64}:)?${TOKEN}$`);

/** What variables must be. */
export const rules = {
  text: { mustBe: 'a string', parse: (value) => value },
  port: integer('a port number', 0, 65_535),
  integer,
  /** Of one body. */
  size: quantity(`a size of ${MAX_REQUEST_BYTES / BYTES.mb}mb at most`, BYTES, MAX_REQUEST_BYTES),
  time,
  timeOrZero: { ...time, mustBe: `0 or ${time.mustBe}`, parse: (text) => (text === '0' ? 0 : time.parse(text)) },
  oneOf,
  /** Two words, for true and for false. */
  flag: (yes: string, no: string): Rule<boolean> => ({
    ...oneOf(yes, no),
    parse: (text) => (text === yes ? true : text === no ? false : undefined),
  }),
  httpUrl,
  /** May have a user and a password. */
  proxyUrl: {
    mustBe: 'the http:// or https:// URL of a proxy',
    parse: (value) => (/^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : undefined),
  },
  /** Whoever can tamper with keys or plants in transit can forge them, so plain HTTP is for this machine only. */
  httpsOrLoopbackUrl: {
    mustBe: 'an https:// URL, or an http:// URL of this machine, without a user and a password',
    parse(value) {
      const { protocol, hostname = '' } = URL.parse(value) ?? {};
      return protocol === 'https:' || isLoopback(hostname) ? httpUrl.parse(value) : undefined;
    },
  },
  origins: {
    // Pages of any origin can send null, so it would permit as much as * does.
    mustBe:
      '* or origins separated by commas, each exactly as browsers send it, like https://app.example or ' +
      'capacitor://localhost; use * for pages whose origin is null',
    parse(value) {
      const list = value.split(',').map((origin) => origin.trim());
      const isExact = (origin: string) => {
        const { protocol, host } = URL.parse(origin) ?? {};
        return host !== '' && !origin.includes('*') && `${protocol}//${host}` === origin;
      };
      return value.trim() === '*' || list.every(isExact) ? list : undefined;
    },
  },
  tokens: {
    mustBe:
      'one token or more, separated by commas or line ends, each of at least 16 letters, digits and -._~+/, perhaps with ' +
      'a name of up to 64 small letters, digits and ._- and a colon before it',
    parse: (value) => listOf(value, (token) => (NAMED_TOKEN.test(token) ? token : undefined)),
  },
  /** One of any service: fetch would repeat one that no header can carry in its error. */
  bearerToken: {
    mustBe: 'one token, on one line',
    parse: (value) => (/^[!-~]+$/.test(value) ? value : undefined),
  },
  /** What a signed token says of itself: it would say none of a list. */
  issuer: {
    mustBe: 'one issuer, not a list, so without commas and spaces',
    parse: (value) => (/[\s,]/.test(value) ? undefined : value),
  },
  /** Not as a JSON array, whose brackets would become parts of names. */
  names: (noun: string): Rule<readonly string[]> => ({
    mustBe: `one ${noun} or more, separated by commas or line ends, without spaces, quotation marks and brackets`,
    parse: (value) => listOf(value, (name) => (/[\s"'[\]]/.test(name) ? undefined : name)),
  }),
  /** RFC 6749 section 3.3, without the comma, which it allows and lists have. */
  scope: {
    mustBe: 'one scope, without spaces, commas, quotation marks and backslashes',
    parse: (value) => (/^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/.test(value) ? value : undefined),
  },
} satisfies Record<string, Rule<unknown> | ((...args: never[]) => Rule<unknown>)>;
