import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { atEnd } from '../lifetimes.ts';

/** The names of the files in certificates: two for localhost, each its own authority, and one for elsewhere.example. */
type Name = 'localhost' | 'other-localhost' | 'elsewhere';

/** A certificate that is its own authority, and its private key, both as PEM. It is valid from 2020 to 2049. */
export function selfSignedCertificate(name: Name): { certificate: string; key: string } {
  const pem = readFileSync(join(import.meta.dirname, 'certificates', `${name}.pem`), 'utf8');
  const [certificate = '', key = ''] = pem.split(/(?<=END CERTIFICATE-----\n)/);
  return { certificate, key };
}

/** One for localhost that this process trusts until the end of the test, as options of a server. */
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
