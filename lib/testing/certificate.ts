import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

/** Makes a self-signed certificate for names or IPv4 addresses. */
export function makeCertificate(names: string[], validUntil = new Date(Date.now() + 86_400_000)) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  // Unique, because OpenSSL finds issuers among the trusted certificates by subject.
  const title = der(0x0c, Buffer.from(randomBytes(8).toString('hex')))
  const commonName = der(0x30, Buffer.from('0603550403', 'hex'), title)
  const subject = der(0x30, der(0x31, commonName))
  const since = new Date(validUntil.getTime() - 2 * 86_400_000)
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    subject,
    der(0x30, utcTime(since), utcTime(validUntil)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, alternativeNames(names))),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, privateKey)])
  const certificate = der(0x30, toBeSigned, ecdsaWithSha256, der(0x03, signature))
  const lines = certificate.toString('base64').replace(/(.{64})(?=.)/g, '$1\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function alternativeNames(names: string[]): Buffer {
  const list = names.map(name =>
    isIPv4(name)
      ? der(0x87, Buffer.from(name.split('.').map(Number)))
      : der(0x82, Buffer.from(name)),
  )
  return der(0x30, Buffer.from('0603551d11', 'hex'), der(0x04, der(0x30, ...list)))
}

function utcTime(at: Date): Buffer {
  return der(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`))
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const contents = Buffer.concat(parts)
  const { length } = contents
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), contents])
}
