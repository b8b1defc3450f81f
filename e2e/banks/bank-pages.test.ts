import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { credentialsAt, openAt, settingsAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import {
  BankChecked,
  type BankDetail,
  BankDetailRead,
  BankList,
  BankMoneyRead,
} from '#lib/operator/banks/schema.ts'
import { call } from '#lib/testing/call.ts'
import { assignConnection, fundLive } from '#lib/testing/connection.ts'
import { type Api, inOwnDatabase, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { readMails } from '#lib/testing/mailbox.ts'
import { expectShape, personHeaders, signInAdmin } from '#lib/testing/member.ts'

// The money of merchants is summed over the whole database.
inOwnDatabase()

const PAYING_KEY = 'caixa@example.com'
const SCOPES = [
  'cob.read',
  'cob.write',
  'pix.read',
  'pix.write',
  'webhook.read',
  'webhook.write',
  'pix.send',
  'gn.pix.send.read',
  'gn.balance.read',
  'gn.settings.read',
  'gn.settings.write',
]

let api: Api
let bank: RunningBank
let plainBank: RunningBank
let session: string
let headers: Record<string, string>
beforeAll(async () => {
  supplyEnv({ PUBLIC_URL: 'https://troco.example' })
  const keys = [newId(), PAYING_KEY]
  ;[api, plainBank, bank] = await Promise.all([
    startApi(),
    startBank(),
    startBank({ kind: 'efi', openingBalance: 50_000, keys }),
  ])
  session = await signInAdmin()
  headers = personHeaders(session)
})
afterAll(async () => {
  await api.close()
  await Promise.all([bank.stop(), plainBank.stop()])
})
beforeEach(() => bank.run('change', { scopes: SCOPES }))

const send = (method: string, path: string, body?: object) =>
  call(api.url, method, `/admin/banks${path}`, {
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body }),
  })
const get = (path = '') => send('GET', path)
const read = async (id: string): Promise<BankDetail> => (await get(`/${id}`)).body.data

/** A connection as the form sends it. */
function formOf(changes: object = {}) {
  return {
    name: `Bank ${newId()}`,
    kind: 'efi',
    environment: 'production',
    ...settingsAt(bank),
    ...credentialsAt(bank),
    receiving_keys: [newId()],
    paying_key: PAYING_KEY,
    ...changes,
  }
}

async function addBank(changes: object = {}): Promise<string> {
  const added = await send('POST', '', formOf(changes))
  expect(added.status, added.text).toBe(200)
  return added.body.data.id
}

const openOwn = (changes: object = {}) =>
  openAt(bank, { kind: 'efi', receiving_keys: [bank.keys[0] ?? ''], ...changes })

const findAction = (action: string, target: string) =>
  db().auditRecord.findFirst({ where: { action, target }, orderBy: { id: 'desc' } })

describe('adding', () => {
  test('stores a connection that serves nobody before its check, audited by who is signed in', async () => {
    const id = await addBank({ payouts_in_flight: 3 })
    const bankDetail = await read(id)
    expectShape(BankDetailRead, { data: bankDetail })
    const endsAt = new Date(bankDetail.certificate_ends_at ?? '').getTime()
    expect(bankDetail).toMatchObject({
      state: 'unchecked',
      checked_at: null,
      latency: null,
      accounts: 0,
      blocks: [],
      environment: 'production',
      kind: 'efi',
      paying_key: maskDictKey(PAYING_KEY),
      can: { correct_settings: true, register_notices: true },
      limits: { payout_max: null, payout_day_max: null },
    })
    expect(endsAt).toBeGreaterThan(Date.now())
    expect(await findAction('connection.added', id)).toMatchObject({ actorType: 'user' })
    const mails = (await readMails()).filter(({ text }) => text.includes(`/admin/banks/${id}`))
    expect(mails).toHaveLength(await db().user.count({ where: { isAdmin: true } }))
    const { settings } = await db().connection.findUniqueOrThrow({ where: { id } })
    expect(settings).toMatchObject({ payouts_in_flight: 3 })
  })

  test('shows no secret in any response', async () => {
    const credentials = { ...credentialsAt(bank), client_secret: 'canary-of-a-secret' }
    const id = await addBank(credentials)
    const texts = [await get(), await get(`/${id}`), await get(`/${id}/balance`)].map(
      ({ text }) => text,
    )
    for (const secret of ['canary', 'PRIVATE KEY', 'CERTIFICATE', PAYING_KEY])
      expect(texts.join()).not.toContain(secret)
  })

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ kind: 'simulator' }, 'kind'],
    [{ environment: 'staging' }, 'environment'],
    [{ kind: 'api_pix', profile: 'unknown', paying_key: undefined }, 'profile'],
    [{ kind: 'api_pix' }, 'paying_key'],
    [{ kind: 'api_pix', paying_key: undefined, api_url: undefined }, 'api_url'],
    [{ api_url: 'http://bank.example/v2' }, 'api_url'],
    [{ api_url: 'https://bank.example/v3' }, 'api_url'],
    [{ token_url: 'x' }, 'token_url'],
    [{ trusted_certificates: 'x' }, 'trusted_certificates'],
    [{ payouts_in_flight: 0 }, 'payouts_in_flight'],
    [{ receiving_keys: ['not a key'] }, 'receiving_keys'],
    [{ receiving_keys: [], paying_key: undefined }, 'receiving_keys'],
    [{ paying_key: 'x' }, 'paying_key'],
    [{ client_id: undefined }, 'client_id'],
    [{ certificate: undefined, private_key: undefined }, 'p12'],
    [{ private_key: undefined }, 'private_key'],
    [{ certificate: undefined }, 'certificate'],
    [{ certificate: 'x' }, 'certificate'],
    [{ private_key: 'x' }, 'private_key'],
    [{ certificate: undefined, private_key: undefined, p12: 'AAAA' }, 'p12'],
  ])('refuses %j, and the error names %s', async (changes, field) => {
    const refused = await send('POST', '', formOf(changes))
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, [field]])
  })

  test('names the passphrase that does not open a P12, and the P12 with the old cipher', async () => {
    const base64 = (file: string) => readFileSync(file).toString('base64')
    const { protected: locked, legacy } = bank.certificates.p12
    const identity = { certificate: undefined, private_key: undefined }
    const fieldsOf = async (p12: string, passphrase?: string) => {
      const refused = await send('POST', '', formOf({ ...identity, p12, passphrase }))
      return Object.keys(refused.body.errors)
    }
    expect(await fieldsOf(base64(locked), 'wrong')).toEqual(['passphrase'])
    expect(await fieldsOf(base64(legacy))).toEqual(['p12'])
  })

  test('twice with one name, or with a key of an open connection, is refused', async () => {
    const form = formOf()
    expect((await send('POST', '', form)).status).toBe(200)
    const errorsOf = async (changes: object) =>
      Object.keys((await send('POST', '', { ...form, ...changes })).body.errors)
    expect(await errorsOf({ receiving_keys: [newId()] })).toEqual(['name'])
    expect(await errorsOf({ name: newId() })).toEqual(['receiving_keys'])
  })
})

describe('a check', () => {
  test('of a connection whose certificate has ended names it, and it serves no account', async () => {
    const pair = bank.certificates.expiredClient
    const id = await addBank(credentialsAt(bank, 'pem', pair))
    const { body, status } = await send('POST', `/${id}/check`)
    expect(status).toBe(200)
    expectShape(BankChecked, body)
    expect(body.data.code).toBe('blocked')
    expect(body.data.findings[0]).toMatchObject({ code: 'certificate_expired', level: 'problem' })
    expect(await read(id)).toMatchObject({ state: 'failed', checked_at: expect.any(String) })
    const renewed = await send('PUT', `/${id}/credentials`, credentialsAt(bank, 'p12'))
    // The paying key has no address for notices, without which Efí pays nothing out.
    expect(renewed.body.data.code).toBe('blocked')
    expect((await read(id)).state).toBe('failed')
  })

  test('names a missing scope; new credentials that pass replace the old ones, with the check', async () => {
    const { id } = await openOwn()
    await bank.run('change', { scopes: SCOPES.filter(scope => scope !== 'pix.write') })
    const failed = await send('POST', `/${id}/check`)
    expect(failed.body.data.findings).toContainEqual({
      code: 'scope_missing',
      level: 'problem',
      params: expect.objectContaining({ scope: 'pix.write' }),
    })
    expect((await read(id)).state).toBe('failed')
    await bank.run('change', { scopes: SCOPES })
    const wrong = { ...credentialsAt(bank), client_secret: 'wrong' }
    expect((await send('PUT', `/${id}/credentials`, wrong)).body.data.code).toBe('blocked')
    const renewed = await send('PUT', `/${id}/credentials`, credentialsAt(bank))
    expect(renewed.body.data.code).toBe('ok')
    expect((await read(id)).state).toBe('open')
    expect(await findAction('connection.renewed', id)).toMatchObject({ actorType: 'user' })
    const expired = credentialsAt(bank, 'pem', bank.certificates.expiredClient)
    expect((await send('PUT', `/${id}/credentials`, expired)).body.data.code).toBe('blocked')
    expect(await read(id)).toMatchObject({ state: 'open', blocks: [] })
    const refused = await send('PUT', `/${id}/credentials`, { client_id: 'x' })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['p12']])
  })
})

describe('notices and settings at the bank', () => {
  test('a foreign address stays until it is replaced on purpose, which is audited with its host', async () => {
    const { id } = await openAt(plainBank)
    const address = 'https://other.example/hook/canary'
    const gateway = await gatewayOfConnection(id)
    await gateway.registerWebhook?.(address, AbortSignal.timeout(10_000))
    const key = maskDictKey(plainBank.keys[0] ?? '')
    const register = async (body: object) => (await send('POST', `/${id}/notices`, body)).body.data
    expect(await register({})).toEqual({
      keys: [{ key, state: 'foreign', host: 'other.example' }],
      refusal: null,
    })
    const urls = async () =>
      (await plainBank.run('readRecords')).webhooks
        .map(({ url }) => url)
        .filter(url => url.includes('other.example'))
    expect(await urls()).toEqual([address])
    expect(await register({ replaces_foreign: true })).toMatchObject({
      keys: [{ state: 'registered' }],
    })
    expect(await urls()).toEqual([])
    const record = await findAction('connection.notices_registered', id)
    expect(record).toMatchObject({
      actorType: 'user',
      after: { keys: 1, replaced: ['other.example'] },
    })
    expect((await send('POST', `/${id}/notices`, { replaces_foreign: 1 })).status).toBe(422)
  })

  test('of an address that the bank names without its scheme, the host alone is shown and recorded', async () => {
    const { id } = await openAt(plainBank)
    const register = async (webhookUrl: string, body = {}) => {
      await plainBank.run('addFault', {
        kind: 'respond',
        method: 'GET',
        path: '/v2/webhook/',
        status: 200,
        body: JSON.stringify({ webhookUrl }),
      })
      return (await send('POST', `/${id}/notices`, body)).body.data.keys
    }
    const foreign = 'other.example/secret-of-theirs'
    expect(await register(foreign)).toMatchObject([{ state: 'foreign', host: 'other.example' }])
    await register(foreign, { replaces_foreign: true })
    const record = await findAction('connection.notices_registered', id)
    expect(record?.after).toEqual({ keys: 1, replaced: ['other.example'] })
    const own = `troco.example/api/banks/${id}/notices/secret-of-ours`
    expect(await register(own)).toMatchObject([{ state: 'registered', host: 'troco.example' }])
  })

  test('an installation without https is told so, and asks the bank nothing', async () => {
    const { id } = await openOwn()
    const before = (await bank.run('readTraffic', {})).length
    const { PUBLIC_URL } = env()
    supplyEnv({ PUBLIC_URL: 'http://troco.example' })
    const path = `/admin/banks/${id}/notices`
    const own = { headers: personHeaders(session), body: {} }
    const { status, headers: sent } = await call(api.url, 'POST', path, own)
    supplyEnv({ PUBLIC_URL })
    expect([status, sent.get('x-error-code')]).toEqual([409, 'not_supported'])
    expect(await bank.run('readTraffic', { after: before })).toEqual([])
  })

  test('settings are corrected once; a bank without them, or that refuses, says so', async () => {
    const { id } = await openOwn()
    const correct = async () => (await send('POST', `/${id}/settings`)).body.data
    const { settings } = await correct()
    expect(settings).toContain('receberSemChave')
    expect(await correct()).toEqual({ settings: [], refusal: null })
    await bank.run('change', { scopes: SCOPES.filter(scope => !scope.includes('settings')) })
    await bank.run('revokeTokens')
    const refused = await correct()
    expect(refused).toEqual({ settings: [], refusal: expect.any(String) })
    const plain = await openOwn({ kind: 'api_pix', paying_key: undefined, profile: 'efi' })
    const response = await send('POST', `/${plain.id}/settings`)
    expect([response.status, response.headers.get('x-error-code')]).toEqual([409, 'not_supported'])
  })
})

describe('money', () => {
  test('the balance is explained term by term, and held against what merchants own', async () => {
    const { id } = await openOwn({ paying_key: PAYING_KEY })
    await db().connection.update({
      where: { id },
      data: { checkCode: 'ok', checkedAt: new Date() },
    })
    const merchant = await makeMerchant()
    await assignConnection(id, merchant)
    await fundLive(merchant, 80_000)
    const { body } = await get(`/${id}/balance`)
    expectShape(BankMoneyRead, body)
    expect(body.data).toMatchObject({
      bank: 50_000,
      books: 80_000,
      expected: 80_000,
      rest: -30_000,
      owned: 80_000,
    })
    const listed = (await get()).body
    expectShape(BankList, listed)
    expect(listed.owned).toBe(80_000)
    const line = listed.data.find((one: BankDetail) => one.id === id)
    expect(line).toMatchObject({ state: 'open', accounts: 1 })
    expect(line.latency.p95_ms).toBeGreaterThanOrEqual(line.latency.p50_ms)
  })

  test('looking at a bank that is down lets no connection rest', async () => {
    const { id } = await openOwn()
    await bank.run('addFault', { kind: 'respond', status: 503, times: 10, path: '/v2/gn/saldo' })
    for (let count = 0; count < 6; count += 1)
      expect((await get(`/${id}/balance`)).body.data.bank).toBeNull()
    await bank.run('clearFaults')
    const state = await db().connectionState.findUnique({ where: { connectionId: id } })
    expect([state?.failures ?? 0, state?.openedAt ?? null]).toEqual([0, null])
  })
})

test('limits are set together and audited; others are refused by name', async () => {
  const { id } = await openOwn()
  const limits = { payout_max: 100_000, payout_day_max: null }
  const limited = await send('PUT', `/${id}/limits`, limits)
  expect([limited.status, limited.body.data]).toEqual([200, limits])
  expect((await read(id)).limits).toEqual(limits)
  expect(await findAction('connection.limited', id)).toMatchObject({ actorType: 'user' })
  const refused = await send('PUT', `/${id}/limits`, { payout_max: -1, payout_day_max: null })
  expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['payout_max']])
})

test('a connection is closed once, with a reason, and taken from its accounts', async () => {
  const { id } = await openOwn()
  const merchant = await makeMerchant()
  await db().connection.update({ where: { id }, data: { checkCode: 'ok', checkedAt: new Date() } })
  await assignConnection(id, merchant)
  expect((await read(id)).assigned).toEqual([
    { id: merchant.id, name: merchant.name, receives: true, pays: true },
  ])
  expect((await send('POST', `/${id}/close`, {})).status).toBe(422)
  const closed = await send('POST', `/${id}/close`, { reason: 'The contract ended' })
  expect([closed.status, closed.body]).toEqual([200, { data: { accounts: 1 } }])
  expect(await read(id)).toMatchObject({ state: 'closed', assigned: [] })
  expect(await findAction('connection.disabled', id)).toMatchObject({
    actorType: 'user',
    reason: 'The contract ended',
  })
  const again = await send('POST', `/${id}/close`, { reason: 'The contract ended' })
  expect([again.status, again.headers.get('x-error-code')]).toEqual([409, 'already_final'])
})

test('unknown connections, and the simulator, respond 404', async () => {
  const paths: [string, string, object?][] = [
    ['GET', ''],
    ['GET', '/balance'],
    ['POST', '/check'],
    ['POST', '/settings'],
    ['POST', '/notices', {}],
    ['PUT', '/credentials', credentialsAt(bank)],
    ['PUT', '/limits', { payout_max: null, payout_day_max: null }],
    ['POST', '/close', { reason: 'No longer needed' }],
  ]
  for (const id of [newId(), 'x', '00000000-0000-7000-8000-000000000001'])
    for (const [method, path, body] of paths) {
      const { status, headers: sent } = await send(method, `/${id}${path}`, body)
      expect([status, sent.get('x-error-code')], `${method} ${path}`).toEqual([
        404,
        'connection_not_found',
      ])
    }
})
