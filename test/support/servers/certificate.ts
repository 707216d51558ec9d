import { generateKeyPairSync, sign } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { atEnd } from '../lifetimes.ts';

/**
 * Makes a certificate for a host name that is its own authority, and its private key, both as PEM. Node.js cannot, and
 * what can weighs more than these lines: RFC 5280 section 4.1, in the DER of X.690.
 */
export function selfSignedCertificate(host: string): { certificate: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(host)))));
  const subjectAltName = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(0x82, Buffer.from(host)))));
  const toBeSigned = sequence(
    der(0xa0, integer(VERSION_3)),
    integer(1),
    sequence(ECDSA_WITH_SHA256),
    name,
    sequence(utcTime(Date.now() - 60_000), utcTime(Date.now() + 3_600_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', toBeSigned, privateKey));
  const base64 = sequence(toBeSigned, sequence(ECDSA_WITH_SHA256), signature).toString('base64');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Makes one for localhost that this process trusts until the end of the test, as options of a server. */
export function trustedCertificate(): { cert: string; key: string } {
  const { certificate: cert, key } = selfSignedCertificate('localhost');
  trustUntilTheEnd(cert);
  return { cert, key };
}

export function trustUntilTheEnd(authority: string): void {
  const authorities = getCACertificates();
  setDefaultCACertificates([...authorities, authority]);
  atEnd(() => setDefaultCACertificates(authorities));
}

const VERSION_3 = 2;

// 1.2.840.10045.4.3.2, 2.5.4.3 and 2.5.29.17.
const ECDSA_WITH_SHA256 = der(0x06, Buffer.from('2a8648ce3d040302', 'hex'));
const COMMON_NAME = der(0x06, Buffer.from('550403', 'hex'));
const SUBJECT_ALT_NAME = der(0x06, Buffer.from('551d11', 'hex'));

/** A value of at most 65,535 octets. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  const octets = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...octets), value]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function utcTime(milliseconds: number): Buffer {
  const [date = ''] = new Date(milliseconds).toISOString().slice(2).split('.');
  return der(0x17, Buffer.from(`${date.replace(/\D/g, '')}Z`));
}
