import { type AddressInfo, createServer } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { examineCertificate, examineServer } from '#lib/banks/api-pix/credentials.ts'
import { lookupBank } from '#lib/banks/served.ts'
import { Authority } from '#lib/testing/authority.ts'

const DAY_MS = 86_400_000
const authority = new Authority()
afterAll(() => authority.close())

const { cert, key } = authority.issue('shop', 40)
const pfx = authority.pack('abc')

describe.each([
  ['PEM', { cert, key }],
  ['a P12', { pfx, passphrase: 'abc' }],
])('a certificate from %s', (_, identity) => {
  const until = new Date(String(examineCertificate(identity).params.until)).getTime()

  test.each<[string, number, object]>([
    ['certificate_not_yet_valid', 41, {}],
    ['certificate_valid', 35, { days: 35 }],
    ['certificate_valid', 30, { days: 30 }],
    ['certificate_expires_soon', 29.9, { days: 29 }],
    ['certificate_expires_soon', 0.1, { days: 0 }],
    ['certificate_expired', 0, {}],
    ['certificate_expired', -1, {}],
  ])('is %s %d days before its end', (code, days, params) => {
    const finding = examineCertificate(identity, until - days * DAY_MS)
    expect(finding).toMatchObject({ code, params })
    expect(finding.params.until).toBe(new Date(until).toISOString())
  })
})

describe('a server', () => {
  const identity = { cert, key }
  const signal = () => AbortSignal.timeout(10_000)
  const examineAlert = async (alert: number) => {
    const server = createServer(socket => {
      socket
        .on('error', () => {})
        .once('data', () => {
          socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, alert]))
        })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const finding = await examineServer(url, { identity, lookup: lookupBank }, signal())
    server.close()
    return finding
  }

  test.each([
    [42, 'certificate_refused'],
    [44, 'certificate_refused'],
    [45, 'certificate_refused'],
    [48, 'certificate_refused'],
    [116, 'certificate_refused'],
    [80, 'server_unreachable'],
  ])('that ends the handshake with the alert %d is %s', async (alert, code) => {
    const { params, ...finding } = await examineAlert(alert)
    expect(finding).toEqual({ code })
    expect(params).toEqual({ host: '127.0.0.1', reason: expect.stringContaining('ALERT') })
  })

  test.each([
    ['PRIVATE_ADDRESS', { code: 'server_private', params: { host: 'bank.example' } }],
    [
      'ENOTFOUND',
      { code: 'server_unreachable', params: { host: 'bank.example', reason: 'ENOTFOUND' } },
    ],
  ])('whose name is resolved with %s is examined no further', async (code, finding) => {
    const lookup: typeof lookupBank = (_host, _options, callback) =>
      callback(Object.assign(new Error(code), { code }), '')
    const url = new URL('https://bank.example')
    expect(await examineServer(url, { identity, lookup }, signal())).toEqual(finding)
  })
})
