import { BlockList, isIPv6 } from 'node:net';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWKSCacheInput,
  jwksCache,
} from 'jose';
import type { Logger } from 'pino';
import { buildConnector, EnvHttpProxyAgent, request } from 'undici';
import { PlantStoreError } from '../../domain/errors.ts';

export interface KeySource {
  /** The URL of the key set, or of the discovery document that names it. */
  readonly jwksUrl: string;
  /** Whether plain HTTP may lead to private addresses. */
  readonly allowHttp: boolean;
  /** Milliseconds that the fetches of both may take together. */
  readonly timeout?: number;
  /** The proxy for https; none by default. */
  readonly proxy?: Pick<EnvHttpProxyAgent.Options, 'httpsProxy' | 'noProxy'>;
}

/** The least milliseconds between two fetches: unauthenticated clients choose which keys their tokens name. */
const COOLDOWN_MS = 5_000;

/** Milliseconds until a withdrawn key is noticed. */
const REFRESH_MS = 5 * 60_000;

/** The most bytes of a key set or a discovery document: real ones are far smaller, and memory has room for it. */
const DOCUMENT_BYTES_MAX = 1024 ** 2;

/** Fetches a JSON Web Key Set, and keeps it for as long as the provider is down. */
export function providerKeys({ timeout = 3_000, ...source }: KeySource, log: Logger) {
  const fetchKeySet = keySetFetcher(source);
  const cache: JWKSCacheInput = {};
  let triedAt = Number.NEGATIVE_INFINITY;
  /** Why the last fetch failed, if it did. */
  let failure: PlantStoreError | undefined;
  // The difference is negative when the clock was set back.
  const hasTried = (milliseconds: number) => Math.abs(Date.now() - triedAt) < milliseconds;

  const keyOf = createRemoteJWKSet(new URL(source.jwksUrl), {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: timeout,
    [jwksCache]: cache,
    async [customFetch](url, { signal }) {
      // jose counts its cool-down from the last success.
      if (failure !== undefined && hasTried(COOLDOWN_MS)) throw failure;
      triedAt = Date.now();
      try {
        const keySet = await fetchKeySet(url, signal);
        createLocalJWKSet(keySet);
        failure = undefined;
        return Response.json(keySet);
      } catch (error) {
        log.warn({ err: error }, 'the keys of JWT_JWKS_URL could not be fetched; those fetched before stay valid');
        failure = new PlantStoreError('token_unverifiable', undefined, { cause: error });
        throw failure;
      }
    },
  });
  return {
    /**
     * Finds the key that a token names, fetching the keys again if the key is unknown.
     *
     * @throws PlantStoreError `token_unverifiable` if the key is unknown and the provider cannot be reached
     */
    keyOf,
    /** Fetches the keys in the background if the last fetch was long ago, to drop withdrawn keys. */
    refresh(): void {
      // The failure reaches the next request that needs the keys.
      if (!hasTried(REFRESH_MS)) keyOf.reload().catch(() => {});
    },
    /** The keys of the last fetch: each fetch creates a new object. */
    current: (): unknown => cache.jwks,
  };
}

/** The addresses of this machine. */
const OWN = new BlockList();
OWN.addSubnet('127.0.0.0', 8);
OWN.addAddress('::1', 'ipv6');

/** Private addresses (RFC 1918, 6598 and 4193): no router of the internet forwards them. */
const PRIVATE = new BlockList();
PRIVATE.addSubnet('10.0.0.0', 8);
PRIVATE.addSubnet('172.16.0.0', 12);
PRIVATE.addSubnet('192.168.0.0', 16);
PRIVATE.addSubnet('100.64.0.0', 10);
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/**
 * Fetches a key set from its own URL, or from the URL that a discovery document names. Plain HTTP is limited to this machine
 * or, if allowed, private addresses: who forges keys in transit has every permission.
 */
function keySetFetcher({ allowHttp, proxy: { httpsProxy = '', noProxy = '' } = {} }: KeySource) {
  // Plain HTTP never goes through the proxy, which could connect to any address.
  const direct = { httpProxy: '', httpsProxy, noProxy, maxResponseSize: DOCUMENT_BYTES_MAX };
  const dispatcher = new EnvHttpProxyAgent({ ...direct, connect: privateConnector(allowHttp) });

  return async function fetchKeySet(url: string, signal: AbortSignal): Promise<JSONWebKeySet> {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const { statusCode, body } = await request(url, { dispatcher, headers, signal });
    if (statusCode !== 200) {
      await body.dump();
      throw new Error(`${url} responded with ${statusCode}`);
    }
    const document = Object(await body.json()) as JSONWebKeySet & { readonly jwks_uri?: unknown };
    return typeof document.jwks_uri === 'string' ? fetchKeySet(document.jwks_uri, signal) : document;
  };
}

/** Checks the address itself, since names may resolve to any address. */
function privateConnector(allowHttp: boolean): buildConnector.connector {
  const connect = buildConnector({});
  const addressLists = allowHttp ? [OWN, PRIVATE] : [OWN];
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      const address = socket?.remoteAddress ?? '';
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      if (!socket || options.protocol === 'https:' || addressLists.some((list) => list.check(address, family))) {
        callback(...result);
        return;
      }
      socket.destroy();
      callback(new Error(`http is not permitted to ${options.hostname}, which is ${address}: use https`), null);
    });
}
