import { createServer, type RequestListener } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { closed, listening } from './local-server.ts';

/* An identity provider that publishes its keys over HTTP, as far as a service sees one. */

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'plants';

/** A key pair that signs tokens. */
export interface SigningKey {
  readonly jwk: JWK;
  readonly alg: string;
  readonly privateKey: CryptoKey;
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg }, alg, privateKey };
}

/** A good token for five minutes, unless the claims say otherwise; `undefined` leaves one out. */
export function tokenOf({ jwk, alg, privateKey }: SigningKey, claims: Record<string, unknown> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: 'a client', exp: now + 300, ...claims })
    .setProtectedHeader({ alg, ...(jwk.kid !== undefined && { kid: jwk.kid }) })
    .sign(privateKey);
}

/** Until the end of the test. */
export async function startIdentityProvider(...keys: readonly SigningKey[]) {
  let published = keys;
  let asked = 0;
  const giveKeys: RequestListener = (_request, response) => {
    response.setHeader('Content-Type', 'application/jwk-set+json');
    response.end(JSON.stringify({ keys: published.map(({ jwk }) => jwk) }));
  };
  let listener = giveKeys;
  const server = createServer((request, response) => {
    asked++;
    listener(request, response);
  });
  const port = await listening(server);

  return {
    url: `http://127.0.0.1:${port}/keys`,
    /** How often its keys were asked for. */
    asked: () => asked,
    publish(...keys: readonly SigningKey[]) {
      published = keys;
      listener = giveKeys;
    },
    /** Answers in this way instead of with its keys. */
    answer(other: RequestListener) {
      listener = other;
    },
    /** Refuses every connection until it comes back at the same address. */
    goDown: () => closed(server),
    async comeBack() {
      await listening(server, port);
    },
  };
}
