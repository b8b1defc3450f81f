import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newOrder } from '#e2e/banks/bank-world.ts'
import { credentialsAt, type IdentityForm, openAt, settingsAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

// Its connections are no longer served when the bank has ended.
inOwnDatabase()

let bank: RunningBank
beforeAll(async () => {
  bank = await startBank()
})
afterEach(() => bank.run('present', {}))
afterAll(() => bank.stop())

const signal = () => AbortSignal.timeout(10_000)
const OK = { outcome: 'ok', value: null }
const openWith = (credentials: object) =>
  openAt(bank, { credentials: JSON.stringify(credentials) }).then(({ gateway }) => gateway)
const refusalOf = (credentials: object) =>
  openWith(credentials).then(
    () => 'opened',
    (error: Error) => error.message,
  )

/** Starts the TLS server of OpenSSL, which refuses clients of other authorities by an alert. */
async function startOpenssl(version: '-tls1_2' | '-tls1_3'): Promise<string> {
  const { authority, server } = bank.certificates
  const trust = ['-CAfile', authority.cert, '-Verify', '1', '-verify_return_error']
  const identity = ['-cert', server.cert, '-key', server.key]
  const args = ['s_server', '-accept', '127.0.0.1:0', ...identity, ...trust, version]
  const child = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill())
  for await (const line of createInterface(child.stdout)) {
    const [, address] = /^ACCEPT (\S+)/.exec(line) ?? []
    if (address) return `https://${address}`
  }
  throw new Error('OpenSSL did not start')
}

describe('the certificate of a connection', () => {
  test.each<IdentityForm>(['pem', 'p12', 'p12-with-passphrase'])('is read: %s', async form => {
    const gateway = await openWith(credentialsAt(bank, form))
    expect(await gateway.checkHealth(signal())).toEqual(OK)
  })

  test('is refused without the passphrase of its P12', async () => {
    const { passphrase: _, ...credentials } = credentialsAt(bank, 'p12-with-passphrase')
    for (const wrong of [credentials, { ...credentials, passphrase: 'outra' }])
      expect(await refusalOf(wrong)).toBe('credentials must have the passphrase of the p12')
  })

  test('is refused in an old P12 with the command that converts it', async () => {
    const refusal = await refusalOf(credentialsAt(bank, 'p12-legacy'))
    const [, command = ''] = /Convert it with: (.*)$/.exec(refusal) ?? []
    const folder = mkdtempSync(join(tmpdir(), 'convert-'))
    copyFileSync(bank.certificates.p12.legacy, join(folder, 'old.p12'))
    execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' })
    const p12 = readFileSync(join(folder, 'new.p12')).toString('base64')
    rmSync(folder, { recursive: true })
    const { client_id, client_secret } = credentialsAt(bank)
    const gateway = await openWith({ client_id, client_secret, p12 })
    expect(await gateway.checkHealth(signal())).toEqual(OK)
  })

  test('that has expired blocks the connection', async () => {
    const expired = credentialsAt(bank, 'pem', bank.certificates.expiredClient)
    const gateway = await openWith(expired)
    const reason = 'the bank refuses the client certificate: CLIENT_CERTIFICATE_EXPIRED'
    const blocked = { outcome: 'blocked', code: 'certificate', reason }
    for (let count = 0; count < 3; count++)
      expect(await gateway.checkHealth(signal())).toEqual(blocked)
    expect(await gateway.createCharge(newOrder(), signal())).toEqual(blocked)
  })

  test('that nginx refuses in front of the bank blocks the connection', async () => {
    const gateway = await openWith(credentialsAt(bank))
    const body = '<html>\r\n<head><title>400 The SSL certificate error</title></head></html>'
    await bank.run('addFault', { kind: 'respond', status: 400, body, times: 2 })
    const reason = 'the bank refuses the client certificate: CLIENT_CERTIFICATE_REFUSED'
    const blocked = { outcome: 'blocked', code: 'certificate', reason }
    expect(await gateway.checkHealth(signal())).toEqual(blocked)
    expect(await gateway.createCharge(newOrder(), signal())).toEqual(blocked)
    expect(await gateway.checkHealth(signal())).toEqual(OK)
  })

  test.each([
    ['has expired', '-tls1_2', 'expiredClient', 'CERTIFICATE_EXPIRED'],
    ['has expired', '-tls1_3', 'expiredClient', 'CERTIFICATE_EXPIRED'],
    ['is of another authority', '-tls1_2', 'foreignClient', 'UNKNOWN_CA'],
    ['is of another authority', '-tls1_3', 'foreignClient', 'UNKNOWN_CA'],
  ] as const)('that %s, by an alert of OpenSSL (%s), blocks the connection', async (...row) => {
    const [, version, pair, code] = row
    const url = await startOpenssl(version)
    const credentials = JSON.stringify(credentialsAt(bank, 'pem', bank.certificates[pair]))
    const settings = { ...settingsAt(bank), api_url: url, token_url: `${url}/token` }
    const { gateway } = await openAt(bank, { credentials, settings })
    const blocked = { outcome: 'blocked', code: 'certificate' }
    const reason = expect.stringMatching(`the bank refuses the client certificate: .*_${code}$`)
    expect(await gateway.checkHealth(signal())).toEqual({ ...blocked, reason })
  })

  // The bank ends such connections without an alert: nothing says why.
  test('that the bank does not know has no effect, and the reason names it', async () => {
    const foreign = credentialsAt(bank, 'pem', bank.certificates.foreignClient)
    const gateway = await openWith(foreign)
    const reason = expect.stringContaining('the bank may refuse the client certificate')
    expect(await gateway.checkHealth(signal())).toEqual({ outcome: 'retryable', reason })
  })

  test('that the bank stops trusting has no effect until it does again', async () => {
    const gateway = await openWith(credentialsAt(bank))
    expect(await gateway.checkHealth(signal())).toEqual(OK)
    await bank.run('present', { trusts: 'foreignAuthority' })
    const order = newOrder()
    expect(await gateway.createCharge(order, signal())).toMatchObject({ outcome: 'unknown' })
    await bank.run('present', {})
    const { charges } = await bank.run('readRecords')
    expect(charges.filter(({ txid }) => txid === order.txid)).toEqual([])
    expect((await gateway.createCharge(order, signal())).outcome).toBe('ok')
  })
})

describe('the certificate of the bank', () => {
  test.each([
    ['has expired', 'expiredServer', 'CERT_HAS_EXPIRED'],
    ['is of another authority', 'foreignServer', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const)('that %s blocks the connection, and nothing is sent', async (_, shows, code) => {
    const gateway = await openWith(credentialsAt(bank))
    expect(await gateway.checkHealth(signal())).toEqual(OK)
    await bank.run('present', { shows })
    const order = newOrder()
    const reason = `the certificate of the bank is not trusted: ${code}`
    const blocked = { outcome: 'blocked', code: 'certificate', reason }
    expect(await gateway.createCharge(order, signal())).toEqual(blocked)
    await bank.run('present', {})
    const { charges } = await bank.run('readRecords')
    expect(charges.filter(({ txid }) => txid === order.txid)).toEqual([])
    expect((await gateway.createCharge(order, signal())).outcome).toBe('ok')
  })
})
