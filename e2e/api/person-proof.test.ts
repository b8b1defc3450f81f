import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { openSession, recordProof } from '#lib/people/sessions.ts'
import { countSignInAttempt } from '#lib/people/throttle.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { pageHeaders, refusal } from '#lib/testing/member.ts'
import { makeSoftwareKey } from '#lib/testing/software-key.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

const HTTPS_URL = 'https://pix.troco.test'
const PASSWORD = 'quite a long password'
const PROOF_REQUIRED = [403, '{"error":"Confirm that it is you"}', 'proof_required']
const { PUBLIC_URL } = env()

let api: Api
let passwordHash: string
beforeAll(async () => {
  api = await startApi()
  passwordHash = await hashPassword(PASSWORD)
  supplyEnv({ PUBLIC_URL: HTTPS_URL })
})
afterAll(async () => {
  supplyEnv({ PUBLIC_URL })
  await api.close()
})

interface Member {
  merchant: Account
  id: string
  secret: string
  headers: Record<string, string>
}

async function openMember(
  options: { isProofExpired?: boolean; hash?: string | null } = {},
): Promise<Member> {
  const merchant = await makeMerchant()
  const id = newId()
  const email = `member-${id}@troco.example`
  const hash = options.hash === undefined ? passwordHash : options.hash
  await db().user.create({ data: { id, email, name: email, passwordHash: hash, ...VERIFIED } })
  await db().membership.create({ data: { accountId: merchant.id, userId: id, role: 'owner' } })
  const secret = await openSession(id, { ip: '203.0.113.9', userAgent: 'a browser' })
  if (options.isProofExpired) await expireProof(id)
  return { merchant, id, secret, headers: pageHeaders(secret, merchant.id) }
}

const expireProof = (id: string) => db().$executeRaw`
  UPDATE user_sessions SET proved_at = now() - interval '301 seconds' WHERE user_id = ${id}::uuid`

const callApi = ({ headers }: Member, method: string, path: string, body?: object) =>
  call(api.url, method, path, { headers, body })
const prove = (member: Member, body: object) => callApi(member, 'POST', '/person/proof', body)

/** Adds an authenticator app through the API. */
async function addAuthenticator(member: Member) {
  const { body } = await callApi(member, 'POST', '/person/authenticator')
  const { secret } = body.data
  const path = '/person/authenticator/confirm'
  const { status, body: confirmation } = await callApi(member, 'POST', path, {
    code: generateTotp(secret),
  })
  expect(status).toBe(200)
  // Stores that only an old code was used, so that the current code is unused.
  await db().authenticator.update({ where: { userId: member.id }, data: { lastCounter: 0 } })
  return { secret: secret as string, codes: confirmation.data.recovery_codes as string[] }
}

const ENDPOINT_REQUEST = { url: 'http://127.0.0.1:1025/hook', event_types: '*' }
const ACCOUNT = {
  name: 'Outra loja',
  city: 'Recife',
  expires_in: 3_600,
  time_zone: 'America/Recife',
}
const GUARDED_OPERATIONS: [string, string, object?][] = [
  ['POST', '/withdrawals', WITHDRAWAL],
  ['POST', '/transactions/[charge]/refunds', { amount: 1 }],
  ['PATCH', '/dashboard/account', ACCOUNT],
  ['GET', '/dashboard/charges/export?locale=en'],
  ['GET', '/dashboard/audit/export?locale=en'],
  ['POST', '/tokens', { name: 'Loja', permissions: ['account:read'] }],
  ['PATCH', '/tokens/[token]', { allowed_addresses: [] }],
  ['POST', '/tokens/[token]/revoke', {}],
  ['POST', '/tokens/[token]/rotate', { overlap_hours: 1 }],
  ['GET', '/dashboard/webhooks/secret'],
  ['POST', '/dashboard/webhooks/secret/rotate', {}],
  ['POST', '/webhooks/endpoints', ENDPOINT_REQUEST],
  ['PATCH', '/webhooks/endpoints/[endpoint]', { url: 'http://127.0.0.1:1025/elsewhere' }],
  ['POST', '/webhooks/endpoints/[endpoint]/rotate', {}],
]

describe('moving money, showing a secret, exporting and changing the account', () => {
  test.each(GUARDED_OPERATIONS)(
    '%s %s requires a new proof of identity after five minutes, and then works',
    async (...operation) => {
      const [method, path, body] = operation
      const member = await openMember()
      await fundMerchant(member.merchant, 10_000)
      await makeToken(member.merchant.id)
      const { id } = await db().token.findFirstOrThrow({ where: { accountId: member.merchant.id } })
      const endpoint = path.includes('[endpoint]')
        ? (await callApi(member, 'POST', '/webhooks/endpoints', ENDPOINT_REQUEST)).body.data.id
        : ''
      const charge = await db().charge.findFirstOrThrow({
        where: { accountId: member.merchant.id, status: 'paid' },
      })
      await expireProof(member.id)
      const filledPath = path
        .replace('[token]', id)
        .replace('[endpoint]', endpoint)
        .replace('[charge]', charge.id)
      expect(refusal(await callApi(member, method, filledPath, body))).toEqual(PROOF_REQUIRED)
      expect(await db().withdrawal.count({ where: { accountId: member.merchant.id } })).toBe(0)
      expect((await prove(member, { password: PASSWORD })).status).toBe(200)
      expect((await callApi(member, method, filledPath, body)).status).toBe(200)
      await expectBalancedLedger(member.merchant.id)
    },
  )

  test('requires no proof from an API token', async () => {
    const { merchant } = await openMember()
    await fundMerchant(merchant, 10_000)
    const token = await makeToken(merchant.id)
    const { status } = await call(api.url, 'POST', '/withdrawals', { token, body: WITHDRAWAL })
    expect(status).toBe(200)
    const { id } = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id } })
    const refund = { token, body: { amount: 1 } }
    expect((await call(api.url, 'POST', `/transactions/${id}/refunds`, refund)).status).toBe(200)
    await expectBalancedLedger(merchant.id)
  })
})

describe('a proof of identity', () => {
  const methodsOf = async (member: Member) =>
    (await callApi(member, 'GET', '/person/proof')).body.data.methods

  test('is the password, if there is no second factor', async () => {
    const member = await openMember({ isProofExpired: true })
    expect(await methodsOf(member)).toEqual(['password'])
    const invalid = await prove(member, { password: `${PASSWORD}!` })
    expect([invalid.status, Object.keys(invalid.body.errors)]).toEqual([422, ['password']])
    expect(refusal(await callApi(member, 'POST', '/person/authenticator'))).toEqual(PROOF_REQUIRED)
  })

  test('works while others fail to sign in with the same e-mail, ten times at most', async () => {
    const member = await openMember({ isProofExpired: true })
    const { email } = await db().user.findUniqueOrThrow({ where: { id: member.id } })
    for (let attempt = 0; attempt < 11; attempt++)
      await countSignInAttempt({ email, address: null })
    expect((await prove(member, { password: PASSWORD })).status).toBe(200)
    for (let attempt = 0; attempt < 10; attempt++) await prove(member, { password: 'x' })
    expect((await prove(member, { password: PASSWORD })).status).toBe(429)
  })

  test('is a code, if there is an authenticator app; the password is refused', async () => {
    const member = await openMember()
    const { secret, codes } = await addAuthenticator(member)
    await expireProof(member.id)
    expect(await methodsOf(member)).toEqual(['code'])
    for (const body of [
      { password: PASSWORD },
      {},
      { code: '000000x' },
      { code: generateTotp(secret, 9) },
    ]) {
      expect((await prove(member, body)).status, JSON.stringify(body)).toBe(422)
    }
    expect(refusal(await callApi(member, 'POST', '/withdrawals', WITHDRAWAL))).toEqual(
      PROOF_REQUIRED,
    )
    expect((await prove(member, { code: generateTotp(secret) })).status).toBe(200)
    expect((await prove(member, { code: generateTotp(secret) })).status).toBe(422)
    expect((await prove(member, { code: codes[0] })).status).toBe(200)
    expect((await prove(member, { code: codes[0] })).status).toBe(422)
  })

  test('is the user’s own passkey, if there is one; a passkey of another user is refused', async () => {
    const member = await openMember()
    const stranger = await openMember()
    const [key, otherKey] = [makeSoftwareKey(HTTPS_URL), makeSoftwareKey(HTTPS_URL)]
    for (const [user, device] of [[member, key] as const, [stranger, otherKey] as const]) {
      const { body } = await callApi(user, 'POST', '/person/passkeys/options')
      const passkeyRequest = { name: 'Celular', ...device.register(body.data) }
      expect(
        (await callApi(user, 'POST', '/person/passkeys', passkeyRequest)).body.data.recovery_codes,
      ).toHaveLength(10)
    }
    await expireProof(member.id)
    expect(await methodsOf(member)).toEqual(['passkey'])
    const requestChallenge = async () =>
      (await callApi(member, 'POST', '/person/proof/passkey')).body.data
    expect((await prove(member, otherKey.authenticate(await requestChallenge()))).status).toBe(422)
    expect((await prove(member, key.authenticate(await requestChallenge()))).status).toBe(200)
    expect((await callApi(member, 'GET', '/dashboard/webhooks/secret')).status).toBe(200)
  })

  test('is impossible without a password and without a second factor', async () => {
    const member = await openMember({ isProofExpired: true, hash: null })
    expect(await methodsOf(member)).toEqual([])
    expect((await prove(member, { password: PASSWORD })).status).toBe(422)
    expect(refusal(await callApi(member, 'POST', '/withdrawals', WITHDRAWAL))).toEqual(
      PROOF_REQUIRED,
    )
  })

  test('allows ten wrong codes in 15 minutes over all endpoints that accept a code', async () => {
    const member = await openMember()
    const { secret } = await addAuthenticator(member)
    const code = generateTotp(secret, 40) === '000000' ? '000001' : '000000'
    const paths = ['/person/proof', '/person/recovery-codes']
    for (let attempt = 0; attempt < 10; attempt++) {
      expect((await callApi(member, 'POST', paths[attempt % 2] ?? '', { code })).status).toBe(422)
    }
    for (const path of [...paths, '/person/authenticator/confirm']) {
      const { status, headers } = await callApi(member, 'POST', path, {
        code: generateTotp(secret),
      })
      expect([status, Number(headers.get('retry-after')) > 800]).toEqual([429, true])
    }
  })
})

test('changing the password requires the current one, and a proof if there is a second factor', async () => {
  const member = await openMember({ isProofExpired: true })
  const change = (current: string, password: string) =>
    callApi(member, 'POST', '/person/password', { current, password })
  const [second, third] = ['tulipa azul no cais 7', 'quatro cabras sobem 31 muros']
  expect((await change(PASSWORD, second)).status).toBe(200)
  await recordProof((await readSession(member.secret))?.sessionId ?? '')
  const { codes } = await addAuthenticator(member)
  await expireProof(member.id)
  expect(refusal(await change(second, third))).toEqual(PROOF_REQUIRED)
  expect((await prove(member, { code: codes[0] })).status).toBe(200)
  expect((await change(second, third)).status).toBe(200)
})

describe('recovery codes', () => {
  test('are renewed only with a second factor, even in a fresh session; the old codes end', async () => {
    const member = await openMember()
    const { secret, codes } = await addAuthenticator(member)
    const renew = (body: object) => callApi(member, 'POST', '/person/recovery-codes', body)
    for (const body of [{}, { password: PASSWORD }]) expect((await renew(body)).status).toBe(422)
    const { body } = await renew({ code: generateTotp(secret) })
    expect(body.data.recovery_codes).toHaveLength(10)
    expect((await prove(member, { code: codes[0] })).status).toBe(422)
    expect((await prove(member, { code: body.data.recovery_codes[9] })).status).toBe(200)
  })
})

test('adding an authenticator app ends other sessions and is audited without its secret', async () => {
  const member = await openMember()
  const otherSecret = await openSession(member.id, { ip: null, userAgent: null })
  const otherDevice = { ...member, headers: pageHeaders(otherSecret, member.merchant.id) }
  expect((await callApi(otherDevice, 'GET', '/account')).status).toBe(200)
  const { secret } = await addAuthenticator(member)
  expect((await callApi(otherDevice, 'GET', '/account')).status).toBe(401)
  expect((await callApi(member, 'GET', '/account')).status).toBe(200)
  const again = await callApi(member, 'POST', '/person/authenticator')
  expect([again.status, again.headers.get('x-error-code')]).toEqual([409, 'limit_reached'])
  expect((await callApi(member, 'DELETE', '/person/authenticator')).status).toBe(200)
  expect((await callApi(member, 'DELETE', '/person/authenticator')).status).toBe(404)
  const records = await db().auditRecord.findMany({ where: { actorId: member.id } })
  expect(records.map(({ action }) => action)).toEqual([
    'user.authenticator_added',
    'user.authenticator_removed',
  ])
  for (const { ip, requestId } of records) expect([ip, requestId]).not.toContain(null)
  expect(JSON.stringify(records)).not.toContain(secret)
})

test('the passkey options for a visitor do not show whether anybody has a passkey', async () => {
  const path = '/visitor/passkey'
  const headers = { origin: HTTPS_URL }
  const { status, body } = await call(api.url, 'POST', path, { headers, body: {} })
  expect([status, body.data.options.rpId]).toEqual([200, 'pix.troco.test'])
  expect(body.data.options.allowCredentials).toBeUndefined()
  const unknown = { challenge: 'A'.repeat(43) }
  const response = await call(api.url, 'POST', path, { headers, body: unknown })
  expect(response.body.data.options.allowCredentials).toBeUndefined()
})
