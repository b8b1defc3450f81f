import NextAuth from 'next-auth'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { admitPending } from '#lib/accounts/members.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { openChallenge, readChallenge } from '#lib/people/factors.ts'
import { requestOpenidLink, unlinkOpenid } from '#lib/people/openid.ts'
import { hashPassword } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { OPENID_PROVIDER_ID } from '#lib/session/openid.ts'
import { authOptions } from '#lib/session/options.ts'
import { requireProof } from '#lib/session/proof.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import type { SessionUser } from '#lib/session/schema.ts'
import { authenticateByPassword } from '#lib/session/sign-in.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { mailsTo } from '#lib/testing/mailbox.ts'
import {
  OPENID_CLIENT,
  openOpenidProvider,
  type ProviderClaims,
} from '#lib/testing/openid-provider.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

// Next provides headers and cookies only during a request; this map is the browser's cookie jar.
const cookieJar = vi.hoisted(() => new Map<string, string>())
vi.mock('next/headers', () => ({
  headers: async () => new Headers({ 'user-agent': 'a browser' }),
  cookies: async () => ({
    get: (name: string) => (cookieJar.has(name) ? { name, value: cookieJar.get(name) } : undefined),
    set: (name: string, value: string) => cookieJar.set(name, value),
  }),
}))

let provider: Awaited<ReturnType<typeof openOpenidProvider>>
let id: string
let email: string
beforeAll(async () => {
  provider = await openOpenidProvider()
  const { id: OIDC_CLIENT_ID, secret: OIDC_CLIENT_SECRET } = OPENID_CLIENT
  const NEXTAUTH_URL = env().PUBLIC_URL
  supplyEnv({
    OIDC_ISSUER: `${provider.issuer}/`,
    OIDC_CLIENT_ID,
    OIDC_CLIENT_SECRET,
    NEXTAUTH_URL,
  })
})
afterAll(async () => {
  supplyEnv({ OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' })
  await provider.close()
})
beforeEach(async () => {
  cookieJar.clear()
  provider.setUserinfo({})
  ;[id, email] = [newId(), `ana-${newId()}@troco.example`]
  await db().user.create({ data: { id, email, name: 'Ana' } })
})

interface RequestParts {
  body?: Record<string, string>
  query?: Record<string, string>
}

type Action = 'csrf' | 'signin' | 'callback' | 'signout' | 'session'

async function callNextAuth(method: string, action: Action, parts: RequestParts = {}) {
  const result: { redirect?: string; csrfToken?: string } = {}
  const setHeader = (name: string, value: string | string[]) => {
    if (name === 'Location') result.redirect = String(value)
    if (name !== 'Set-Cookie') return
    for (const line of [value].flat()) storeCookie(line)
  }
  const response = {
    status: () => response,
    getHeader: () => undefined,
    setHeader,
    send: (body: object) => Object.assign(result, body),
    end: () => {},
  }
  const query = { nextauth: [action, OPENID_PROVIDER_ID], ...parts.query }
  const request = {
    method,
    query,
    cookies: Object.fromEntries(cookieJar),
    headers: {},
    body: parts.body,
  }
  await NextAuth(request as never, response as never, authOptions({}))
  return result
}

function storeCookie(line: string): void {
  const [pair = ''] = line.split(';')
  const [name = '', value = ''] = pair.split('=')
  if (value) cookieJar.set(name, decodeURIComponent(value))
  else cookieJar.delete(name)
}

interface ProviderSignIn {
  /** When the user entered credentials at the provider. */
  authenticatedAt?: Date
  /** Parameters that the browser adds to the request. */
  query?: Record<string, string>
}

/** Signs in at the provider with these claims and returns the query of the redirect to Troco. */
async function signInAtProvider(
  claims: ProviderClaims,
  { authenticatedAt, query }: ProviderSignIn = {},
): Promise<Record<string, string>> {
  provider.signIn(claims, authenticatedAt)
  const { csrfToken = '' } = await callNextAuth('GET', 'csrf')
  const { redirect = '' } = await callNextAuth('POST', 'signin', {
    body: { csrfToken, callbackUrl: '/test/charges' },
    query,
  })
  const response = await fetch(redirect, { redirect: 'manual' })
  return Object.fromEntries(new URL(response.headers.get('location') ?? '').searchParams)
}

/** Completes the sign-in and returns the redirect and the user of the new session. */
async function signInThroughProvider(claims: ProviderClaims, options?: ProviderSignIn) {
  const { redirect } = await callNextAuth('GET', 'callback', {
    query: await signInAtProvider(claims, options),
  })
  const secret = cookieJar.get(cookieNames().session)
  return { redirect, userId: secret ? ((await readSession(secret))?.id ?? null) : null }
}

const subjectOf = async (userId: string) =>
  (await db().user.findUniqueOrThrow({ where: { id: userId } })).oidcSubject

test("a known, verified e-mail signs in and links the user to the provider's subject", async () => {
  const sub = newId()
  const first = await signInThroughProvider({
    sub,
    email: email.toUpperCase(),
    email_verified: true,
  })
  expect(first).toEqual({ redirect: `${env().PUBLIC_URL}/test/charges`, userId: id })
  expect(await subjectOf(id)).toBe(`${provider.issuer}|${sub}`)
  // After the user is linked, only the subject counts, whatever its e-mail.
  expect(await signInThroughProvider({ sub, email: 'new@elsewhere.example' })).toMatchObject({
    userId: id,
  })
  const records = await db().auditRecord.findMany({ where: { target: id }, orderBy: { id: 'asc' } })
  expect(records.map(({ action }) => action)).toEqual([
    'user.email_verified',
    'user.openid_linked',
    'user.signed_in',
    'user.signed_in',
  ])
  expect(records[0]?.after).toEqual({ by: 'openid' })
  expect(records[2]?.after).toEqual({ by: 'oidc' })
})

test('each sign-in opens a new session and ends the previous one of this browser', async () => {
  const claims = { sub: newId(), email, email_verified: true }
  await signInThroughProvider(claims)
  const before = cookieJar.get(cookieNames().session) ?? ''
  await signInThroughProvider(claims)
  expect(cookieJar.get(cookieNames().session)).not.toBe(before)
  expect(await readSession(before)).toBeNull()
})

test('an unfinished sign-in leaves the current session valid, and signing out ends it', async () => {
  await signInThroughProvider({ sub: newId(), email, email_verified: true })
  const secret = cookieJar.get(cookieNames().session) ?? ''
  await signInAtProvider({ sub: newId() })
  expect(await callNextAuth('GET', 'session')).toMatchObject({ user: { email } })
  expect(cookieJar.get(cookieNames().session)).toBe(secret)
  const { csrfToken = '' } = await callNextAuth('GET', 'csrf')
  await callNextAuth('POST', 'signout', { body: { csrfToken } })
  expect(await readSession(secret)).toBeNull()
})

test('an e-mail from the userinfo endpoint alone counts as well', async () => {
  const sub = newId()
  provider.setUserinfo({ email, email_verified: true })
  expect(await signInThroughProvider({ sub })).toMatchObject({ userId: id })
})

test.each([
  ['is not verified', { email_verified: false }, 'unverified'],
  ['is verified as the text "true" only', { email_verified: 'true' }, 'unverified'],
  ['is unknown', { email: 'nobody@troco.example', email_verified: true }, 'unknown'],
  ['is invalid', { email: 'ana', email_verified: true }, 'unknown'],
])('a user whose e-mail %s cannot sign in', async (_, claims, problem) => {
  const result = await signInThroughProvider({ sub: newId(), email, ...claims })
  expect(result).toEqual({ redirect: `/login?problem=${problem}`, userId: null })
  expect(await subjectOf(id)).toBeNull()
})

test('a user linked to one subject cannot sign in with another', async () => {
  await signInThroughProvider({ sub: newId(), email, email_verified: true })
  cookieJar.clear()
  const second = await signInThroughProvider({ sub: newId(), email, email_verified: true })
  expect(second).toEqual({ redirect: '/login?problem=unknown', userId: null })
})

test('a disabled user cannot sign in, linked or not', async () => {
  const sub = newId()
  await signInThroughProvider({ sub, email, email_verified: true })
  cookieJar.clear()
  await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
  for (const subject of [sub, newId()]) {
    const result = await signInThroughProvider({ sub: subject, email, email_verified: true })
    expect(result).toEqual({ redirect: '/login?problem=unknown', userId: null })
  }
})

test('a second factor is required after OpenID too; its challenge is in a cookie, not in the URL', async () => {
  const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
  await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
  const oidcSubject = `${provider.issuer}|${id}`
  await db().user.update({ where: { id }, data: { oidcSubject } })
  const result = await signInThroughProvider({ sub: id, email, email_verified: true })
  expect(result).toEqual({ redirect: '/login?next=%2Ftest%2Fcharges', userId: null })
  const step = JSON.parse(cookieJar.get(cookieNames().step) ?? '{}')
  expect(step).toEqual({ challenge: expect.stringMatching(/^[\w-]{43}$/), methods: ['passkey'] })
})

test.each([
  ['another issuer', { iss: 'https://evil.example' }],
  ['another client', { aud: 'somebody-else' }],
  ['another sign-in', { nonce: 'x' }],
])('a token for %s is refused', async (_, claims) => {
  const { redirect, userId } = await signInThroughProvider({
    sub: newId(),
    email,
    email_verified: true,
    ...claims,
  })
  expect(redirect).toContain('/api/auth/error?error=OAuthCallback')
  expect(userId).toBeNull()
  expect(await subjectOf(id)).toBeNull()
})

test('a sign-in started in another browser cannot be completed in this one', async () => {
  const query = await signInAtProvider({ sub: newId(), email, email_verified: true })
  const savedCookies = new Map(cookieJar)
  const { session, openid } = cookieNames()
  for (const [name, value] of [
    [`${openid}-state`, undefined],
    [`${openid}-pkce`, undefined],
    [`${openid}-nonce`, undefined],
    [`${openid}-state`, savedCookies.get(`${openid}-nonce`)],
  ] as const) {
    cookieJar.clear()
    for (const [savedName, savedValue] of savedCookies) cookieJar.set(savedName, savedValue)
    if (value) cookieJar.set(name, value)
    else cookieJar.delete(name)
    const { redirect } = await callNextAuth('GET', 'callback', { query })
    expect(redirect).toContain('error=OAuthCallback')
    expect(cookieJar.has(session)).toBe(false)
  }
})

describe('an admin who never proved the e-mail', () => {
  let claims: { sub: string; email: string; email_verified: boolean }
  beforeEach(async () => {
    claims = { sub: newId(), email, email_verified: true }
    await db().user.update({ where: { id }, data: { isAdmin: true } })
    const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
    await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
  })

  test.each([
    ['with', 1],
    ['without', 0],
  ])('is linked by no sign-in, %s a second factor', async (_, passkeys) => {
    if (passkeys === 0) await db().passkey.deleteMany({ where: { userId: id } })
    const secret = await openSession(id, { ip: null, userAgent: null })
    const refused = { redirect: '/login?problem=unlinked', userId: null }
    expect(await signInThroughProvider(claims)).toEqual(refused)
    expect(await subjectOf(id)).toBeNull()
    expect(await db().passkey.count({ where: { userId: id } })).toBe(passkeys)
    expect(await readSession(secret)).not.toBeNull()
    const user = await db().user.findUniqueOrThrow({ where: { id } })
    expect(user.isEmailVerified).toBe(false)
  })

  test('is linked from the session that requested it, keeps the passkey, and is proven by it', async () => {
    const session = await openSession(id, { ip: null, userAgent: null })
    await requestOpenidLink((await readSession(session)) as SessionUser)
    cookieJar.set(cookieNames().session, session)
    const { redirect } = await signInThroughProvider(claims)
    expect(redirect).toBe('/test/settings/security?openid=linked')
    expect(await subjectOf(id)).toBe(`${provider.issuer}|${claims.sub}`)
    expect(await db().passkey.count({ where: { userId: id } })).toBe(1)
    const user = await db().user.findUniqueOrThrow({ where: { id } })
    expect(user.emailVerifiedBy).toBe('openid')
    cookieJar.clear()
    expect(await signInThroughProvider(claims)).toMatchObject({ userId: null })
    expect(JSON.parse(cookieJar.get(cookieNames().step) ?? '{}').methods).toEqual(['passkey'])
  })

  test('is not linked to an e-mail that the provider has not verified', async () => {
    const session = await openSession(id, { ip: null, userAgent: null })
    await requestOpenidLink((await readSession(session)) as SessionUser)
    cookieJar.set(cookieNames().session, session)
    const { redirect } = await signInThroughProvider({ ...claims, email_verified: false })
    expect(redirect).toBe('/test/settings/security?openid=refused')
    const user = await db().user.findUniqueOrThrow({ where: { id } })
    expect([user.oidcSubject, user.isEmailVerified]).toEqual([null, false])
  })
})

describe('an e-mail that was never proven', () => {
  test('loses every credential and session at its first OpenID sign-in, and its owner stays in', async () => {
    const passwordHash = await hashPassword('a password of somebody else')
    await db().user.update({ where: { id }, data: { passwordHash } })
    const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
    await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
    const app = { userId: id, sealed: new Uint8Array(), confirmedAt: new Date() }
    await db().authenticator.create({ data: app })
    await db().recoveryCode.create({ data: { userId: id, hash: new Uint8Array(32) } })
    const { id: accountId } = await makeMerchant()
    await db().pendingMembership.create({ data: { accountId, userId: id, role: 'finance' } })
    const proved = new Date()
    const secret = await openSession(id, { ip: null, userAgent: null })
    const claims = { sub: newId(), email, email_verified: true }
    expect(await signInThroughProvider(claims)).toMatchObject({ userId: id })
    expect(await readSession(secret)).toBeNull()
    const attempt = { email, address: null }
    expect(await authenticateByPassword(attempt, 'a password of somebody else')).toBeNull()
    // A sign-in that began before, with the old password, ends as well.
    await expect(openSession(id, { ip: null, userAgent: null }, proved)).rejects.toThrow()
    const where = { where: { userId: id } }
    expect(await db().passkey.count(where)).toBe(0)
    expect(await db().authenticator.count(where)).toBe(0)
    expect(await db().recoveryCode.count(where)).toBe(0)
    expect(await db().membership.findMany(where)).toMatchObject([{ accountId, role: 'finance' }])
    expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({
      emailVerifiedBy: 'openid',
      isEmailVerified: true,
    })
    // Later sign-ins remove nothing.
    await db().user.update({ where: { id }, data: { passwordHash } })
    await signInThroughProvider(claims)
    expect(await authenticateByPassword(attempt, 'a password of somebody else')).not.toBeNull()
  })

  test('is not linked to a provider that does not confirm it', async () => {
    const { id: accountId } = await makeMerchant()
    await db().pendingMembership.create({ data: { accountId, userId: id, role: 'owner' } })
    for (const email_verified of [false, 'true', 1, undefined]) {
      await signInThroughProvider({ sub: newId(), email, email_verified })
    }
    expect(await subjectOf(id)).toBeNull()
    expect(await db().membership.count({ where: { userId: id } })).toBe(0)
  })
})

describe('a proven e-mail', () => {
  let session: string
  beforeEach(async () => {
    const passwordHash = await hashPassword('four words nobody expects')
    await db().user.update({ where: { id }, data: { ...VERIFIED, passwordHash } })
    session = await openSession(id, { ip: null, userAgent: null })
  })
  const claims = () => ({ sub: newId(), email, email_verified: true })
  const signedIn = async () => ({ ...((await readSession(session)) as SessionUser) })

  test('is linked by no sign-in, whoever is at the provider', async () => {
    const refused = { redirect: '/login?problem=unlinked', userId: null }
    expect(await signInThroughProvider(claims())).toEqual(refused)
    // Nor by a sign-in while its user is signed in, without the request from the settings.
    cookieJar.clear()
    cookieJar.set(cookieNames().session, session)
    expect((await signInThroughProvider(claims())).redirect).toBe('/login?problem=unlinked')
    expect(await subjectOf(id)).toBeNull()
    expect(await readSession(session)).not.toBeNull()
  })

  test('is linked from the session that requested it, changes no credential, and is mailed', async () => {
    const key = { credentialId: newId(), publicKey: new Uint8Array(1), counter: 0n, name: 'key' }
    await db().passkey.create({ data: { id: newId(), userId: id, ...key } })
    const before = await db().user.findUniqueOrThrow({ where: { id } })
    await requestOpenidLink(await signedIn())
    cookieJar.set(cookieNames().session, session)
    const linking = claims()
    const { redirect, userId } = await signInThroughProvider(linking)
    expect([redirect, userId]).toEqual(['/test/settings/security?openid=linked', id])
    const after = await db().user.findUniqueOrThrow({ where: { id } })
    expect(after.oidcSubject).toBe(`${provider.issuer}|${linking.sub}`)
    expect([after.passwordHash, after.passwordChangedAt]).toEqual([
      before.passwordHash,
      before.passwordChangedAt,
    ])
    expect(await db().passkey.count({ where: { userId: id } })).toBe(1)
    expect(await readSession(session)).not.toBeNull()
    const mail = (await mailsTo(email)).at(-1)?.text
    expect(mail).toContain(
      `desconecte ${env().OIDC_NAME} com o comando \`user disconnect --email ${email}\``,
    )
    await db().passkey.deleteMany({ where: { userId: id } })
    cookieJar.clear()
    expect(await signInThroughProvider(linking)).toMatchObject({ userId: id })
  })

  test.each([
    ['another e-mail', { email: 'other@troco.example' }],
    ['an unconfirmed e-mail', { email_verified: false }],
    ['an e-mail that only other foldings make equal', { folds: true }],
  ])('is not linked to %s', async (_, change) => {
    const other = 'folds' in change ? { email: `\u00A0${email}` } : change
    await requestOpenidLink(await signedIn())
    cookieJar.set(cookieNames().session, session)
    const { redirect } = await signInThroughProvider({ ...claims(), ...other })
    expect(redirect).toBe('/test/settings/security?openid=refused')
    expect(await subjectOf(id)).toBeNull()
  })

  test('is not linked from another session than the one that asked, nor twice', async () => {
    await requestOpenidLink(await signedIn())
    cookieJar.set(cookieNames().session, await openSession(id, { ip: null, userAgent: null }))
    expect((await signInThroughProvider(claims())).redirect).toBe('/login?problem=unlinked')
    cookieJar.set(cookieNames().session, session)
    expect((await signInThroughProvider(claims())).redirect).toContain('openid=linked')
    await requestOpenidLink(await signedIn())
    expect((await signInThroughProvider(claims())).redirect).toContain('openid=refused')
  })

  test('is not linked to a subject of somebody else', async () => {
    const sub = newId()
    const oidcSubject = `${provider.issuer}|${sub}`
    const other = { id: newId(), email: `rui-${newId()}@troco.example`, name: 'Rui', oidcSubject }
    await db().user.create({ data: { ...other, ...VERIFIED } })
    await requestOpenidLink(await signedIn())
    cookieJar.set(cookieNames().session, session)
    const { redirect } = await signInThroughProvider({ sub, email, email_verified: true })
    expect(redirect).toContain('openid=refused')
    expect(await subjectOf(id)).toBeNull()
  })
})

describe('a provider that still knows the browser', () => {
  const hourAgo = () => new Date(Date.now() - 3_600_000)
  const seconds = () => Math.floor(Date.now() / 1000)
  let claims: ProviderClaims
  beforeEach(async () => {
    claims = { sub: newId(), email }
    const oidcSubject = `${provider.issuer}|${claims.sub}`
    await db().user.update({ where: { id }, data: { oidcSubject, ...VERIFIED } })
  })
  const readProof = async () => {
    const user = await readSession(cookieJar.get(cookieNames().session) ?? '')
    expect(user?.id).toBe(id)
    return user as SessionUser
  }

  test('signs in whoever sits at it, which proves no identity', async () => {
    await signInThroughProvider(claims, { authenticatedAt: hourAgo() })
    const user = await readProof()
    expect(() => requireProof(user, 'live')).toThrow('Confirm that it is you')
  })

  test('proves an identity by asking for credentials, and only then', async () => {
    const query = { prompt: 'login', max_age: '0' }
    await signInThroughProvider(claims, { authenticatedAt: hourAgo(), query })
    requireProof(await readProof(), 'live')
    // It ignores the request for credentials, or the browser left it out.
    const ignoring = { ...claims, auth_time: seconds() - 3600 }
    await signInThroughProvider(ignoring, { query })
    expect((await readProof()).provedAgoS).toBeGreaterThanOrEqual(3600)
    await signInThroughProvider(claims, { authenticatedAt: hourAgo(), query: { max_age: '86400' } })
    expect((await readProof()).provedAgoS).toBeGreaterThanOrEqual(3600)
  })

  test('proves an identity for five minutes after the credentials', async () => {
    await signInThroughProvider({ ...claims, auth_time: seconds() - 240 })
    requireProof(await readProof(), 'live')
    await signInThroughProvider({ ...claims, auth_time: seconds() - 310 })
    const user = await readProof()
    expect(() => requireProof(user, 'live')).toThrow('Confirm that it is you')
    // The provider's clock may be a little ahead; the proof does not last longer.
    await signInThroughProvider({ ...claims, auth_time: seconds() + 30 })
    expect((await readProof()).provedAgoS).toBeGreaterThanOrEqual(0)
  })

  test.each([
    ['text', () => String(seconds())],
    ['null', () => null],
    ['a negative number', () => -1],
    ['in milliseconds', () => Date.now()],
    ['later than now', () => seconds() + 120],
  ])('proves nothing by a time that is %s', async (_, makeTime) => {
    await signInThroughProvider({ ...claims, auth_time: makeTime() })
    expect((await readProof()).provedAgoS).toBeGreaterThan(1_000_000_000)
  })

  test('proves nothing by a time that is not in the token', async () => {
    provider.setUserinfo({ email, auth_time: seconds() })
    await signInThroughProvider({ sub: claims.sub })
    expect((await readProof()).provedAgoS).toBeGreaterThan(1_000_000_000)
  })

  test('signs in also after the password was changed here', async () => {
    await db().user.update({ where: { id }, data: { passwordChangedAt: new Date() } })
    await signInThroughProvider({ ...claims, auth_time: seconds() - 3600 })
    await readProof()
  })
})

describe('a provider that the operator disconnects', () => {
  let claims: ProviderClaims
  beforeEach(async () => {
    claims = { sub: newId(), email, email_verified: true }
    const oidcSubject = `${provider.issuer}|${claims.sub}`
    await db().user.update({ where: { id }, data: { oidcSubject, ...VERIFIED } })
  })
  const disconnect = () => unlinkOpenid(` ${email.toUpperCase()}`, { type: 'command_line' })

  test('signs nobody in any more, and ends every session and pending sign-in', async () => {
    await signInThroughProvider(claims)
    const session = cookieJar.get(cookieNames().session) ?? ''
    await requestOpenidLink((await readSession(session)) as SessionUser)
    const pending = await openChallenge('second_factor', { userId: id })
    expect(await disconnect()).toEqual({ id, hasPassword: false })
    expect(await readSession(session)).toBeNull()
    expect(await readChallenge('second_factor', pending)).toBeNull()
    // The cookie of the ended session is still there, and with it the request to connect.
    expect((await signInThroughProvider(claims)).redirect).toBe('/login?problem=unlinked')
    expect(await subjectOf(id)).toBeNull()
    expect((await db().user.findUniqueOrThrow({ where: { id } })).devicesEndedAt).not.toBeNull()
  })

  test('opens no session for a sign-in that began before', async () => {
    const caller = { ip: null, userAgent: null, isByOpenid: true }
    const checkedAt = new Date()
    expect(await openSession(id, caller, checkedAt)).toMatch(/^[\w-]{43}$/)
    await disconnect()
    await expect(openSession(id, caller, checkedAt)).rejects.toThrow('Sign in again')
    expect(await openSession(id, { ip: null, userAgent: null })).toMatch(/^[\w-]{43}$/)
  })

  test('is named in the audit log and in a mail that says how to sign in now', async () => {
    await disconnect()
    const where = { action: 'user.openid_unlinked', target: id }
    expect(await db().auditRecord.findMany({ where })).toMatchObject([
      { actorType: 'command_line', before: { by: provider.issuer }, after: null },
    ])
    const mail = (await mailsTo(email)).at(-1)
    expect(mail?.subject).toBe(`${env().OIDC_NAME} não dá mais acesso ao seu Troco`)
    expect(mail?.text).toContain(`${env().PUBLIC_URL}/login\n`)
    expect(mail?.text).toContain(`${env().PUBLIC_URL}/reset\n`)
  })

  test('keeps the password, and can be connected again by its owner', async () => {
    const passwordHash = await hashPassword('four words nobody expects')
    await db().user.update({ where: { id }, data: { passwordHash } })
    expect(await disconnect()).toEqual({ id, hasPassword: true })
    const attempt = { email, address: null }
    expect(await authenticateByPassword(attempt, 'four words nobody expects')).not.toBeNull()
    const session = await openSession(id, { ip: null, userAgent: null })
    await requestOpenidLink((await readSession(session)) as SessionUser)
    cookieJar.set(cookieNames().session, session)
    expect((await signInThroughProvider(claims)).redirect).toContain('openid=linked')
  })

  test('is refused for an unknown user, and for one without a provider, who gets no mail', async () => {
    const unlink = (text: string) => unlinkOpenid(text, { type: 'command_line' })
    await expect(unlink('nobody@troco.example')).rejects.toMatchObject({
      fields: { email: ['email does not belong to a user'] },
    })
    await disconnect()
    const mails = (await mailsTo(email)).length
    await expect(disconnect()).rejects.toMatchObject({
      fields: { email: ['email belongs to a user who has connected no OpenID provider'] },
    })
    expect(await mailsTo(email)).toHaveLength(mails)
  })
})

test('five concurrent first sign-ins link the user once', async () => {
  const { findByOpenid } = await import('#lib/people/openid.ts')
  const claims = { iss: provider.issuer, sub: newId(), email, email_verified: true }
  const found = await Promise.all(
    Array.from({ length: 5 }, () => findByOpenid(claims, admitPending)),
  )
  expect(found).toEqual(found.map(() => ({ userId: id })))
  const where = { action: 'user.openid_linked', target: id }
  expect(await db().auditRecord.count({ where })).toBe(1)
})
