import { BlockList, isIPv6 } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import { buildConnector, EnvHttpProxyAgent, request } from 'undici';

/** Without one, requests go directly. */
export type ProxyOptions = Pick<EnvHttpProxyAgent.Options, 'httpsProxy' | 'noProxy'>;

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
 *
 * @param timeout milliseconds for both
 */
export function keySetFetcher(
  url: string,
  allowHttp: boolean,
  timeout: number,
  { httpsProxy = '', noProxy = '' }: ProxyOptions,
): () => Promise<JSONWebKeySet> {
  // Plain HTTP never goes through the proxy, which could connect to any address.
  const proxy = { httpProxy: '', httpsProxy, noProxy };
  const dispatcher = new EnvHttpProxyAgent({ ...proxy, connect: privateConnector(allowHttp, timeout) });

  async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const { statusCode, body } = await request(url, { dispatcher, headers, signal });
    if (statusCode === 200) return body.json();
    await body.dump();
    throw new Error(`${url} responded with ${statusCode}`);
  }
  return async () => {
    const signal = AbortSignal.timeout(timeout);
    const document = Object(await fetchJson(url, signal)) as JSONWebKeySet & { readonly jwks_uri?: unknown };
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
