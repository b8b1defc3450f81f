import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { P12_PASSPHRASE } from './certificates.ts'
import { Client } from './client.ts'
import type { Fault } from './faults.ts'
import { makeHexId } from './formats.ts'
import { type RunningBank, startBank } from './start.ts'

let bank: RunningBank
let client: Client

beforeAll(async () => {
  bank = await startBank()
  client = new Client(bank)
  await client.signIn()
})

afterEach(async () => {
  await bank.run('clearFaults')
  await bank.run('present', {})
})

afterAll(async () => {
  client.close()
  await bank.stop()
})

function put(txid: string, signal?: AbortSignal) {
  const terms = { calendario: { expiracao: 600 }, valor: { original: '5.00' }, chave: bank.keys[0] }
  return client.call('PUT', `/v2/cob/${txid}`, terms, signal)
}

async function exists(txid: string): Promise<boolean> {
  return (await client.call('GET', `/v2/cob/${txid}`)).status === 200
}

function addFault(fault: Fault) {
  return bank.run('addFault', { method: 'PUT', path: '/v2/cob', ...fault })
}

test.each([
  ['half-close', 'socket hang up'],
  ['reset', 'ECONNRESET'],
] as const)('with %s, the response is lost before or after the bank acted', async (kind, error) => {
  for (const hasActed of [false, true]) {
    await addFault({ kind, hasActed })
    const txid = makeHexId()
    await expect(put(txid)).rejects.toThrow(error)
    expect(await exists(txid)).toBe(hasActed)
  }
})

test.each([[{ kind: 'hang' }], [{ kind: 'delay', delayMs: 3_600_000 }]] as const)(
  'with %o, the caller gives up before or after the bank acted',
  async fault => {
    for (const hasActed of [false, true]) {
      await addFault({ ...fault, hasActed })
      const [txid, giveUp] = [makeHexId(), new AbortController()]
      const outcome = put(txid, giveUp.signal).catch((error: Error) => error.name)
      await expect.poll(() => bank.run('countFaults')).toBe(0)
      if (hasActed) await expect.poll(() => exists(txid)).toBe(true)
      giveUp.abort()
      expect(await outcome).toBe('AbortError')
      expect(await exists(txid)).toBe(hasActed)
    }
  },
)

test('a short delay changes nothing else', async () => {
  await addFault({ kind: 'delay', delayMs: 1 })
  expect((await put(makeHexId())).status).toBe(201)
})

test('half a body is an aborted response, after the bank acted', async () => {
  await addFault({ kind: 'half-body' })
  const txid = makeHexId()
  await expect(put(txid)).rejects.toThrow('aborted')
  expect(await exists(txid)).toBe(true)
})

test('429 and 5xx in HTML replace a response, as often as asked and for one path', async () => {
  const headers = { 'retry-after': '7' }
  await bank.run('addFault', { kind: 'respond', status: 429, headers, path: '/v2/cob', times: 2 })
  await bank.run('addFault', { kind: 'respond', path: '/v2/cob', hasActed: true })
  const txid = makeHexId()
  expect((await put(txid)).headers['retry-after']).toBe('7')
  expect((await put(txid)).status).toBe(429)
  const broken = await put(txid)
  expect([broken.status, broken.body]).toEqual([503, null])
  expect(broken.text).toMatch(/^<html>/)
  expect(await exists(txid)).toBe(true)
})

test('tokens die on command, expire, and lack a scope', async () => {
  const txid = makeHexId()
  await bank.run('revokeTokens')
  expect((await put(txid)).status).toBe(401)
  await bank.run('change', { tokenSeconds: 0 })
  expect((await client.signIn()).body.expires_in).toBe(0)
  expect((await put(txid)).status).toBe(401)
  await bank.run('change', { tokenSeconds: 3600 })
  await client.signIn('cob.read')
  expect((await put(txid)).body.type).toMatch('AcessoNegado')
  expect((await client.signIn('cob.read gn.other')).body.error).toBe('invalid_scope')
  expect((await client.signIn()).status).toBe(200)
})

test('the token endpoint takes forms and refuses wrong credentials', async () => {
  const { clientId: client_id, clientSecret: client_secret } = bank
  const ask = (fields: Record<string, string>) =>
    client.send('POST', '/oauth/token', { grant_type: 'client_credentials', ...fields })
  expect((await ask({ client_id, client_secret })).status).toBe(401)
  await bank.run('change', { tokenAuth: 'form' })
  expect((await ask({ client_id, client_secret })).status).toBe(200)
  expect((await ask({ client_id, client_secret: 'x' })).body.error).toBe('invalid_client')
  await bank.run('change', { tokenAuth: 'basic' })
})

test('lists are behind, and pages shift', async () => {
  await put(makeHexId())
  await put(makeHexId())
  const list = async (page: number) => {
    const times = { inicio: '2020-01-01T00:00:00Z', fim: '2090-01-01T00:00:00Z' }
    const paging = { 'paginacao.paginaAtual': `${page}`, 'paginacao.itensPorPagina': '1' }
    const query = new URLSearchParams({ ...times, ...paging })
    const { body } = await client.call('GET', `/v2/cob?${query}`)
    return [body.cobs[0]?.txid, body.parametros.paginacao.quantidadeTotalDeItens]
  }
  const [first, second] = [await list(0), await list(1)]
  const total = first[1]
  await bank.run('addFault', { kind: 'shift-pages', path: '/v2/cob' })
  const shifted = await list(1)
  expect(shifted[1]).toBe(total - 1)
  expect([first[0], second[0]]).not.toContain(shifted[0])
  await bank.run('change', { listsBehindMs: 60_000 })
  expect(await list(0)).toEqual([undefined, 0])
  await bank.run('change', { listsBehindMs: 0 })
})

test('the clock of the bank is off', async () => {
  await bank.run('change', { clockOffsetMs: -90_000 })
  const { body, headers } = await put(makeHexId())
  await bank.run('change', { clockOffsetMs: 0 })
  for (const time of [body.calendario.criacao, headers.date])
    expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() - 90_000)
})

test('a client needs a valid certificate of this authority, as PEM or P12', async () => {
  const { certificates } = bank
  const signInWith = async (tls: object) => {
    const other = new Client(bank, { ...tls, ca: readFileSync(certificates.authority.cert) })
    const outcome = await other.signIn().then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code,
    )
    other.close()
    return outcome
  }
  const pem = ({ cert, key }: { cert: string; key: string }) => ({
    cert: readFileSync(cert),
    key: readFileSync(key),
  })
  const { plain, protected: locked } = certificates.p12
  expect(await signInWith({ pfx: readFileSync(plain), passphrase: '' })).toBe(200)
  expect(await signInWith({ pfx: readFileSync(locked), passphrase: P12_PASSPHRASE })).toBe(200)
  for (const tls of [{}, pem(certificates.expiredClient), pem(certificates.foreignClient)])
    expect(await signInWith(tls)).toMatch(/^(ERR_SSL_|ECONNRESET|EPIPE)/)
  await bank.run('present', { trusts: 'foreignAuthority' })
  expect(await signInWith(pem(certificates.client))).toMatch(/^(ERR_SSL_|ECONNRESET|EPIPE)/)
})

test('Node refuses the P12 in the old encryption', () => {
  const pfx = readFileSync(bank.certificates.p12.legacy)
  expect(() => createSecureContext({ pfx, passphrase: '' })).toThrow('Unsupported PKCS12')
})

test.each([
  ['expiredServer', 'CERT_HAS_EXPIRED'],
  ['foreignServer', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
] as const)('the server shows %s on command', async (shows, code) => {
  await bank.run('present', { shows })
  await expect(put(makeHexId())).rejects.toMatchObject({ code })
})

test('every exchange is recorded without credentials', async () => {
  const { length } = await bank.run('readTraffic', {})
  await addFault({ kind: 'reset', hasActed: true })
  const txid = makeHexId()
  await expect(put(txid)).rejects.toThrow()
  await exists(txid)
  await bank.run('change', { quirks: { hasNulls: true } })
  await exists(txid)
  await bank.run('change', { quirks: { hasNulls: false } })
  const exchanges = await bank.run('readTraffic', { after: length })
  expect(exchanges).toMatchObject([
    { method: 'PUT', route: '/v2/cob/:txid', status: null, fault: 'reset' },
    { method: 'GET', route: '/v2/cob/:txid', status: 200, fault: null },
    { method: 'GET', route: '/v2/cob/:txid', status: 200, fault: 'quirk' },
  ])
  const text = readFileSync(`${bank.folder}/traffic.jsonl`, 'utf8')
  expect(text.trim().split('\n')).toHaveLength(length + 3)
  expect(text).not.toContain('Bearer ')
})
