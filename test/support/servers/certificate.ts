import { generateKeyPairSync } from 'node:crypto';
import forge from 'node-forge';

/** Makes a certificate for a host name that is its own authority, and its private key, both as PEM. */
export function selfSignedCertificate(host: string): { certificate: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = '01';
  certificate.validity.notBefore = new Date(Date.now() - 60_000);
  certificate.validity.notAfter = new Date(Date.now() + 3_600_000);
  certificate.setSubject([{ name: 'commonName', value: host }]);
  certificate.setIssuer(certificate.subject.attributes);
  const DNS_NAME = 2;
  certificate.setExtensions([{ name: 'subjectAltName', altNames: [{ type: DNS_NAME, value: host }] }]);
  certificate.sign(forge.pki.privateKeyFromPem(privateKey), forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate), key: privateKey };
}
