// A certificate for a TLS server in a test, made anew: no key is in the repository, and no tool is needed.
import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';

export function certificate() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const times = ['200101000000Z', '491231235959Z'].map((time) => der(0x17, Buffer.from(time)));
  const serial = der(0x02, Buffer.from([1]));
  const emptyName = der(0x30);
  const body = der(
    0x30,
    ...[serial, ecdsaWithSha256, emptyName, der(0x30, ...times), emptyName],
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: new X509Certificate(der(0x30, body, ecdsaWithSha256, signature)).toString(),
  };
}

/** One element of ASN.1: its tag, its length, its parts. */
function der(tag, ...parts) {
  const body = Buffer.concat(parts);
  const n = body.length;
  const length = n < 128 ? [n] : n < 256 ? [0x81, n] : [0x82, n >> 8, n & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}
