import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { GET } from '#app/api/person/[[...path]]/route.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { openChallenge, readChallenge } from '#lib/people/factors.ts'
import { hashPassword, verifyPassword } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { authenticateByPassword } from '#lib/session/sign-in.ts'
import { startApiProcess } from '#lib/testing/api-process.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, startApi } from '#lib/testing/fixtures.ts'
import { findMailedLink, mailsTo } from '#lib/testing/mailbox.ts'
import { expectShape } from '#lib/testing/member.ts'
import { OUTDATED_HASH } from '#lib/testing/outdated-hash.ts'
import { measureFastestMs } from '#lib/testing/timing.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const OLD_PASSWORD = 'girassol verde 88'
const NEW_PASSWORD = 'tulipa azul no cais 7'
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1'

let api: Api
let oldHash: string
let id: string
let email: string
let currentSession: string
let otherSession: string
beforeAll(async () => {
  api = await startApi()
  oldHash = await hashPassword(OLD_PASSWORD)
})
afterAll(() => api.close())
beforeEach(async () => {
  ;[id, email] = [newId(), `ana-${newId()}@troco.example`]
  await db().user.create({ data: { id, email, name: 'Ana', passwordHash: oldHash } })
  const open = (userAgent: string) => openSession(id, { ip: '203.0.113.9', userAgent })
  ;[currentSession, otherSession] = [
    await open('Mozilla/5.0 (X11; Linux) Firefox/140.0'),
    await open(IPHONE),
  ]
})

function callApi(
  method: string,
  path: string,
  body?: object,
  secret: string | null = currentSession,
  url = api.url,
) {
  const cookie = { cookie: secret ? `${cookieNames().session}=${secret}` : 'a=b' }
  return call(url, method, path, { headers: { ...cookie, origin: env().PUBLIC_URL }, body })
}

async function isCurrentPassword(password: string): Promise<boolean> {
  const { passwordHash } = await db().user.findUniqueOrThrow({ where: { id } })
  return verifyPassword(password, passwordHash)
}

async function listAudited(action: string) {
  return (await db().auditRecord.findMany({ where: { action, target: id } })).map(row => row.after)
}

describe('changing a password', () => {
  const change = (body: object, secret = currentSession) =>
    callApi('POST', '/person/password', body, secret)

  test('ends every other session and unfinished sign-in, and is mailed and audited', async () => {
    const challengeSecret = await openChallenge('second_factor', { userId: id })
    expect((await change({ current: OLD_PASSWORD, password: NEW_PASSWORD })).body).toEqual({
      data: {},
    })
    expect([await isCurrentPassword(NEW_PASSWORD), await isCurrentPassword(OLD_PASSWORD)]).toEqual([
      true,
      false,
    ])
    expect(await readSession(currentSession)).not.toBeNull()
    expect(await readSession(otherSession)).toBeNull()
    expect((await callApi('GET', '/person/sessions', undefined, otherSession)).status).toBe(401)
    expect(await readChallenge('second_factor', challengeSecret)).toBeNull()
    expect(await listAudited('user.password_changed')).toHaveLength(1)
    const [mail] = await mailsTo(email)
    expect(mail?.subject).toBe('Sua senha do Troco mudou')
    expect(mail?.text).toContain('127.0.0.1')
  })

  test('requires the current password, with ten attempts at most', async () => {
    const invalid = await change({ current: NEW_PASSWORD, password: NEW_PASSWORD })
    expect([invalid.status, Object.keys(invalid.body.errors)]).toEqual([422, ['current']])
    expect((await change({ password: NEW_PASSWORD })).status).toBe(422)
    const statuses = await Promise.all(
      Array.from(
        { length: 12 },
        async () => (await change({ current: 'x', password: NEW_PASSWORD })).status,
      ),
    )
    expect(statuses.filter(status => status === 422)).toHaveLength(8)
    expect((await change({ current: OLD_PASSWORD, password: NEW_PASSWORD })).status).toBe(429)
    expect(await isCurrentPassword(OLD_PASSWORD)).toBe(true)
  })

  test('refuses a guessable or short password and says why', async () => {
    for (const [password, rule] of [
      ['password1234', 'password is easy to guess: '],
      [`${email.slice(0, 20)}1`, 'password is easy to guess: '],
      ['elevenchars', 'password must have 12 to 128 characters'],
    ] as const) {
      const { status, body } = await change({ current: OLD_PASSWORD, password })
      expect([status, body.errors.password[0]]).toEqual([422, expect.stringContaining(rule)])
    }
    expect(await isCurrentPassword(OLD_PASSWORD)).toBe(true)
  })

  test('refuses everything after ten guessable passwords', async () => {
    const weak = () => change({ current: OLD_PASSWORD, password: 'password1234' })
    for (let attempt = 0; attempt < 10; attempt++) expect((await weak()).status).toBe(422)
    expect((await weak()).status).toBe(429)
  })

  test('succeeds once when two sessions change it at the same time', async () => {
    const responses = await Promise.all([
      change({ current: OLD_PASSWORD, password: NEW_PASSWORD }),
      change({ current: OLD_PASSWORD, password: `${NEW_PASSWORD} outra` }, otherSession),
    ])
    expect(responses.map(({ status }) => status).filter(status => status === 200)).toHaveLength(1)
    expect(await listAudited('user.password_changed')).toHaveLength(1)
  })

  test('requires no current password from a user without one', async () => {
    await db().user.update({ where: { id }, data: { passwordHash: null } })
    expect((await change({ password: NEW_PASSWORD })).status).toBe(200)
    expect(await isCurrentPassword(NEW_PASSWORD)).toBe(true)
    expect((await change({ password: OLD_PASSWORD })).status).toBe(422)
  })
})

test('a password hash with outdated parameters is renewed at the next sign-in', async () => {
  const readHash = async () => (await db().user.findUniqueOrThrow({ where: { id } })).passwordHash
  await db().user.update({ where: { id }, data: { passwordHash: OUTDATED_HASH } })
  await authenticateByPassword({ email, address: null }, 'wrong')
  expect(await readHash()).toBe(OUTDATED_HASH)
  expect(await authenticateByPassword({ email, address: null }, 'password')).toMatchObject({ id })
  const renewed = await readHash()
  expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await authenticateByPassword({ email, address: null }, 'password')).toMatchObject({ id })
  expect(await readHash()).toBe(renewed)
})

describe('the sessions of a user', () => {
  const list = async (secret = currentSession) =>
    (await callApi('GET', '/person/sessions', undefined, secret)).body

  test('are listed with browser, system and address, this one first, and without secrets', async () => {
    const body = await list()
    expectShape(GET.table['GET /person/sessions'].accountlessDeclaration.response, body)
    expect(body.data).toMatchObject([
      { browser: 'Firefox', system: 'Linux', is_this: true, ip: '203.0.113.9' },
      { browser: 'Safari', system: 'iPhone', is_this: false },
    ])
    expect(JSON.stringify(body)).not.toContain(otherSession)
  })

  test('end one by one, but only by their own user', async () => {
    const [, otherRow] = (await list()).data
    const strangerId = newId()
    await db().user.create({
      data: { id: strangerId, email: `${strangerId}@troco.example`, name: 'B' },
    })
    const strangerSecret = await openSession(strangerId, { ip: null, userAgent: null })
    const endSession = (secret: string) =>
      callApi('DELETE', `/person/sessions/${otherRow.id}`, undefined, secret).then(
        ({ status }) => status,
      )
    expect(await endSession(strangerSecret)).toBe(404)
    expect([await endSession(currentSession), await endSession(currentSession)]).toEqual([200, 404])
    expect((await callApi('DELETE', '/person/sessions/x')).status).toBe(404)
    expect((await list()).data).toHaveLength(1)
    expect(await readSession(strangerSecret)).not.toBeNull()
    expect(await listAudited('user.signed_out_elsewhere')).toEqual([{ sessions: 1 }])
  })

  testInTorture('end all but this one, at once in every process', async () => {
    const otherProcess = await startApiProcess()
    try {
      const listSessions = () =>
        callApi('GET', '/person/sessions', undefined, otherSession, otherProcess.url)
      expect((await listSessions()).status).toBe(200)
      expect((await callApi('DELETE', '/person/sessions')).body).toEqual({ data: { ended: 1 } })
      expect((await listSessions()).status).toBe(401)
    } finally {
      await otherProcess.close()
    }
    expect((await callApi('DELETE', '/person/sessions')).body).toEqual({ data: { ended: 0 } })
    expect(await readSession(currentSession)).not.toBeNull()
  })

  test('are not listed when they have been idle too long', async () => {
    await db().$executeRaw`UPDATE user_sessions SET last_used_at = now() - interval '13 hours'
      WHERE user_id = ${id}::uuid AND user_agent = ${IPHONE}`
    expect((await list()).data).toHaveLength(1)
  })
})

describe('resetting a password', () => {
  const reset = (recipient: string) => callApi('POST', '/visitor/reset', { email: recipient }, null)
  const confirm = (secret: string, password = NEW_PASSWORD) =>
    callApi('POST', '/visitor/reset/confirm', { secret, password }, null)
  const secretOf = async () => (await findMailedLink(email)).split('/').at(-1) ?? ''
  beforeEach(async () => {
    await db().$executeRaw`DELETE FROM sign_in_attempts WHERE scope = 'reset_address'`
  })

  test('works once through a mailed link and ends every session', async () => {
    await reset(` ${email.toUpperCase()} `)
    await reset(email)
    const [first, second] = await mailsTo(email)
    const [older, secret] = [first, second].map(mail => /reset\/(\S+)/.exec(mail?.text ?? '')?.[1])
    expect((await confirm(secret ?? '')).body).toEqual({ data: {} })
    expect(await isCurrentPassword(NEW_PASSWORD)).toBe(true)
    expect([await readSession(currentSession), await readSession(otherSession)]).toEqual([
      null,
      null,
    ])
    for (const usedSecret of [secret, older, 'x']) {
      const refused = await confirm(usedSecret ?? '', OLD_PASSWORD)
      expect([refused.status, refused.headers.get('x-error-code')]).toEqual([410, 'link_expired'])
    }
    expect(await listAudited('user.password_reset')).toHaveLength(1)
    expect((await mailsTo(email)).at(-1)?.subject).toBe('Sua senha do Troco mudou')
  })

  test('succeeds once when several requests use the same link', async () => {
    await reset(email)
    const secret = await secretOf()
    const responses = await Promise.all(Array.from({ length: 5 }, () => confirm(secret)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await listAudited('user.password_reset')).toHaveLength(1)
  })

  test('refuses a guessable password, and the link still works', async () => {
    await reset(email)
    const secret = await secretOf()
    const refused = await confirm(secret, 'password1234')
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['password']])
    expect((await confirm(secret)).status).toBe(200)
  })

  test('fails after an hour and for a disabled user', async () => {
    await reset(email)
    const secret = await secretOf()
    await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
    expect((await confirm(secret)).status).toBe(410)
    await db().user.update({ where: { id }, data: { disabledAt: null } })
    await db().$executeRaw`UPDATE challenges SET expires_at = now() WHERE user_id = ${id}::uuid`
    expect((await confirm(secret)).status).toBe(410)
    expect(await isCurrentPassword(OLD_PASSWORD)).toBe(true)
  })

  test('reveals neither by content nor by time whether an e-mail is known', async () => {
    const measureReset = async (recipient: string) => {
      const responses: unknown[] = []
      const tookMs = await measureFastestMs(async () => {
        const { status, text } = await reset(recipient)
        responses.push(status, text)
      })
      return { responses, tookMs }
    }
    const known = await measureReset(email)
    const unknown = await measureReset(`nobody-${newId()}@troco.example`)
    expect(unknown.responses).toEqual(known.responses)
    expect(known.responses.slice(0, 2)).toEqual([200, '{"data":{}}'])
    for (const { tookMs } of [known, unknown]) expect(tookMs).toBeGreaterThan(290)
    expect(Math.abs(unknown.tookMs - known.tookMs)).toBeLessThan(150)
    expect((await reset('ana')).status).toBe(422)
  })

  test('sends five links per hour and user; the response stays the same', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => reset(email)))
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['200 {"data":{}}']),
    )
    expect(await mailsTo(email)).toHaveLength(5)
  })

  test('allows twenty requests per hour and address, then 429', async () => {
    const responses = await Promise.all(
      Array.from({ length: 25 }, (_, index) => reset(`nobody-${index}-${newId()}@troco.example`)),
    )
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(5)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(3_000)
  })

  test('sends nothing without a mail server', async () => {
    const environment = env().TROCO_ENV
    supplyEnv({ TROCO_ENV: 'production', PUBLIC_URL: 'http://localhost:3000' })
    try {
      expect((await reset(email)).status).toBe(200)
    } finally {
      supplyEnv({ TROCO_ENV: environment })
    }
    expect(await mailsTo(email)).toEqual([])
  })
})
