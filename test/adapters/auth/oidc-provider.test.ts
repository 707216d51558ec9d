import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type AsymmetricSigningAlgorithm, type JWK } from 'oidc-provider';
import { pino } from 'pino';
import { jwtTokens } from '../../../src/adapters/auth/jwt-tokens.ts';
import { trustedCertificate } from '../../support/servers/certificate.ts';
import { startForwardProxy } from '../../support/servers/forward-proxy.ts';
import { listening } from '../../support/servers/local-server.ts';

const RESOURCE = 'https://plants.example/api';
const CLIENT = { client_id: 'shop', client_secret: 'secret-of-the-shop' };

/** Starts a certified provider, until the end of the test. */
async function startProvider(alg: AsymmetricSigningAlgorithm, isSecure = false) {
  // It says that its store is for development.
  jest.spyOn(console, 'warn').mockImplementation(() => {});
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const server = isSecure ? createHttpsServer(trustedCertificate()) : createServer();
  const issuer = `${isSecure ? 'https' : 'http'}://localhost:${await listening(server)}`;
  const jwt = { sign: { alg } };
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    clientDefaults: { id_token_signed_response_alg: alg },
    ttl: { ClientCredentials: 60 },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg } as JWK] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'plants:read plants:write',
          audience: 'plants',
          accessTokenFormat: 'jwt',
          jwt,
        }),
      },
    },
  });
  server.on('request', provider.callback());
  return {
    issuer,
    async token(scope: string): Promise<string> {
      const body = new URLSearchParams({ ...CLIENT, grant_type: 'client_credentials', resource: RESOURCE, scope });
      const response = await fetch(`${issuer}/token`, { method: 'POST', body });
      const { access_token: token } = (await response.json()) as { access_token: string };
      return token;
    },
  };
}

test.each<[AsymmetricSigningAlgorithm, string, boolean]>([
  ['RS256', '/jwks', false],
  ['ES256', '/.well-known/openid-configuration', true],
  ['EdDSA', '/.well-known/oauth-authorization-server', true],
])(
  'accepts the tokens of a real provider, signed with %s, by the keys at %s; by https: %s',
  async (alg, path, isSecure) => {
    const proxy = await startForwardProxy();
    const { issuer, token } = await startProvider(alg, isSecure);
    const verify = jwtTokens(
      {
        ...{ jwksUrl: `${issuer}${path}`, allowHttp: false, issuer, audiences: ['plants'], scopeClaims: ['scope'] },
        ...{ readScope: 'plants:read', writeScope: 'plants:write', proxy: { httpsProxy: proxy.url } },
      },
      pino({ level: 'silent' }),
    );
    const read = { permissions: new Set(['read']), who: 'shop', clientId: 'shop' };
    expect(await verify(await token('plants:read'))).toEqual(read);
    expect(await verify(await token('plants:read plants:write'))).toEqual({
      ...read,
      permissions: new Set(['read', 'create', 'change']),
    });
    expect(new Set(proxy.asked)).toEqual(new Set(isSecure ? [new URL(issuer).host] : []));
  },
);
