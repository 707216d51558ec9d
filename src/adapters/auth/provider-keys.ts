import { BlockList, isIPv6 } from 'node:net';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { buildConnector, EnvHttpProxyAgent, request } from 'undici';
import { PlantStoreError } from '../../domain/errors.ts';

interface KeySource {
  /** Where the identity provider publishes its keys, or the discovery document that names that. */
  readonly jwksUrl: string;
  /** Whether plain HTTP may lead to private addresses. */
  readonly allowHttp: boolean;
  /** Milliseconds that both may take together. */
  readonly timeout?: number;
  /** Through which they are fetched by https; directly if it is not given. */
  readonly proxy?: Pick<EnvHttpProxyAgent.Options, 'httpsProxy' | 'noProxy'>;
}

/** Minimum milliseconds between two fetches, since unauthenticated clients choose which keys their tokens name. */
const COOLDOWN = 5_000;

/** Bytes of a key set or a discovery document: far more than any has, and no more than memory has room for. */
const MAX_BYTES = 1024 ** 2;

/** Milliseconds until a withdrawn key is noticed. */
const REFRESH = 5 * 60_000;

/**
 * Fetches a JSON Web Key Set and caches it for as long as the provider is down. Fetches are paced here, so that a
 * provider that is down gets no request for each token.
 *
 * @param changed called when the keys differ from those before
 */
export function providerKeys(source: KeySource, log: Logger, changed: () => void) {
  const fetchKeySet = keySetFetcher(source);
  let keys: JWTVerifyGetKey = () => {
    throw new errors.JWKSNoMatchingKey();
  };
  let known = '';
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;
  /** Why the last fetch failed, if it did. */
  let failure: unknown;

  async function fetchKeys(): Promise<void> {
    fetchedAt = Date.now();
    try {
      const set = await fetchKeySet();
      const fetched = JSON.stringify(set);
      if (fetched !== known) {
        keys = createLocalJWKSet(set);
        changed();
      }
      known = fetched;
      failure = undefined;
    } catch (error) {
      failure = error;
      log.warn({ err: error }, 'the keys of JWT_JWKS_URL could not be fetched; those fetched before stay valid');
    }
    fetching = undefined;
  }

  /** Fetches if the last fetch was at least this long ago. Concurrent callers share one fetch. */
  async function fetchAfter(milliseconds: number): Promise<void> {
    // The difference is negative when the clock was set back.
    if (Math.abs(Date.now() - fetchedAt) >= milliseconds) fetching ??= fetchKeys();
    await fetching;
  }

  /**
   * Finds the key that a token names, fetching the keys anew if it is unknown.
   *
   * @throws PlantStoreError `token_unverifiable` if it is unknown and the provider cannot be reached
   */
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await fetchAfter(COOLDOWN);
    if (failure === undefined) return keys(header, token);
    const why = 'the key of the access token cannot be fetched';
    throw new PlantStoreError('token_unverifiable', why, { cause: failure });
  };

  return {
    keyOf,
    /** Fetches the keys in the background if the last fetch was long ago, to drop those that were withdrawn. */
    refresh: () => void fetchAfter(REFRESH),
  };
}

/** This machine. */
const OWN = new BlockList();
OWN.addSubnet('127.0.0.0', 8);
OWN.addAddress('::1', 'ipv6');

/** Of RFC 1918, 6598 and 4193: no router of the internet forwards them. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  PRIVATE.addSubnet(network, bits);
}
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/**
 * Fetches a key set from its own URL or from that of a discovery document, which names it. Plain HTTP leads to this
 * machine only, or also to private addresses: whoever forges keys in transit has every permission.
 */
function keySetFetcher({ jwksUrl, allowHttp, timeout = 3_000, proxy = {} }: KeySource): () => Promise<JSONWebKeySet> {
  const { httpsProxy = '', noProxy = '' } = proxy;
  // Plain HTTP never goes through the proxy, which could connect to any address.
  const direct = { httpProxy: '', httpsProxy, noProxy, maxResponseSize: MAX_BYTES };
  const dispatcher = new EnvHttpProxyAgent({ ...direct, connect: privateConnector(allowHttp, timeout) });

  async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const { statusCode, body } = await request(url, { dispatcher, headers, signal });
    if (statusCode === 200) return body.json();
    await body.dump();
    throw new Error(`${url} responded with ${statusCode}`);
  }
  return async () => {
    const signal = AbortSignal.timeout(timeout);
    const document = Object(await fetchJson(jwksUrl, signal)) as JSONWebKeySet & { readonly jwks_uri?: unknown };
    const { jwks_uri: other } = document;
    return typeof other === 'string' ? ((await fetchJson(other, signal)) as JSONWebKeySet) : document;
  };
}

/** Checks the address itself, since names may resolve to any. */
function privateConnector(allowHttp: boolean, timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout });
  const permitted = allowHttp ? [OWN, PRIVATE] : [OWN];
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      const address = socket?.remoteAddress ?? '';
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      if (!socket || options.protocol === 'https:' || permitted.some((list) => list.check(address, family))) {
        callback(...result);
        return;
      }
      socket.destroy();
      callback(new Error(`${options.hostname} is ${address}, which plain HTTP may not lead to: use https`), null);
    });
}
