import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SignInBrowser, type SignInServer, startSignInServer } from '#e2e/api/sign-in-server.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { beginAuthenticator, confirmAuthenticator } from '#lib/people/factors.ts'
import { addPasskey, beginPasskeyRegistration } from '#lib/people/passkeys.ts'
import { hashPassword } from '#lib/people/password.ts'
import { SESSIONS_MAX } from '#lib/people/schema.ts'
import { openSession } from '#lib/people/sessions.ts'
import { countAttempt, countFactorAttempt, keyOf } from '#lib/people/throttle.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { addMark, MARK_SECONDS } from '#lib/session/sign-in.ts'
import { findMailedLink, mailsTo } from '#lib/testing/mailbox.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { OUTDATED_HASH } from '#lib/testing/outdated-hash.ts'
import { makeSoftwareKey } from '#lib/testing/software-key.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

const PASSWORD = 'sete gatos no telhado'
const NEW_PASSWORD = 'tulipa azul no cais 7'
const { TRUST_PROXY } = env()

let server: SignInServer
let passwordHash: string
beforeAll(async () => {
  supplyEnv({ TRUST_PROXY: '1', NEXTAUTH_URL: env().PUBLIC_URL })
  server = await startSignInServer()
  passwordHash = await hashPassword(PASSWORD)
})
afterAll(() => {
  server.close()
  supplyEnv({ TRUST_PROXY: String(TRUST_PROXY) })
})

interface Person {
  id: string
  email: string
}

let owner: Person
beforeEach(async () => {
  owner = await makePerson()
})

async function makePerson(): Promise<Person> {
  const id = newId()
  const email = `ana-${id}@troco.example`
  await db().user.create({ data: { id, email, name: 'Ana', passwordHash, ...VERIFIED } })
  return { id, email }
}

let host = 0
/** Returns an address in a network that no other test uses. */
function newAddress(): string {
  host += 1
  return `10.${process.pid % 250}.${Math.floor(host / 250)}.${host % 250}`
}

const openBrowser = (address = newAddress()) => new SignInBrowser(server, address)
const readMarks = (browser: SignInBrowser) => browser.cookies.get(cookieNames().device) ?? ''
const signIn = ({ email }: Person, browser = openBrowser(), password = PASSWORD) =>
  browser.signIn({ email, password })

async function openKnownBrowser(person = owner): Promise<SignInBrowser> {
  const browser = openBrowser()
  expect((await signIn(person, browser)).status).toBe(200)
  return browser
}

/** Uses up the guesses for one user, each from an address of its own, and returns the responses. */
async function guess({ email }: Pick<Person, 'email'>, count = 11) {
  const statuses: number[] = []
  for (let nth = 0; nth < count; nth++) {
    statuses.push((await openBrowser().signIn({ email, password: `guess ${nth}` })).status)
  }
  return statuses
}

/** Locks a user for unknown devices, as ten guesses do. */
async function lock({ email }: Person): Promise<void> {
  for (let nth = 0; nth < 10; nth++) await countAttempt([['person', email]])
}

describe('while others guess the password of a user from other addresses', () => {
  test('a known device signs in, and an unknown one is refused like for an unknown e-mail', async () => {
    const browser = await openKnownBrowser()
    expect(await guess(owner)).toEqual([...Array(10).fill(401), 429])
    const unknown = await signIn(owner)
    expect([unknown.status, Number(unknown.headers.get('retry-after'))]).toEqual([
      429,
      expect.toSatisfy((seconds: number) => seconds > 800 && seconds <= 900),
    ])
    expect((await signIn(owner, browser)).status).toBe(200)
    const before = browser.cookies.get(cookieNames().session) ?? ''
    expect(await readSession(before)).toMatchObject({ id: owner.id })
    // After the sign-out the browser is still known.
    browser.cookies.delete(cookieNames().session)
    expect((await signIn(owner, browser)).status).toBe(200)
    const stranger = { email: `nobody-${newId()}@troco.example` }
    expect(await guess(stranger)).toEqual([...Array(10).fill(401), 429])
    const refused = await openBrowser().signIn({ ...stranger, password: PASSWORD })
    expect([refused.status, shapeOf(refused)]).toEqual([unknown.status, shapeOf(unknown)])
  })

  test('a known device signs in at an address that has used up its attempts', async () => {
    const browser = await openKnownBrowser()
    for (let nth = 0; nth < 31; nth++) {
      await countAttempt([['address', browser.address]])
    }
    expect((await signIn(owner, openBrowser(browser.address))).status).toBe(429)
    expect((await signIn(owner, browser)).status).toBe(200)
  })

  testInTorture(
    'a known device has ten guesses of its own, which no other device can use up',
    async () => {
      const browser = await openKnownBrowser()
      const other = await openKnownBrowser()
      const statuses: number[] = []
      for (let nth = 0; nth < 11; nth++) {
        statuses.push((await signIn(owner, browser, `typo ${nth}`)).status)
      }
      expect(statuses).toEqual([...Array(10).fill(401), 429])
      expect((await signIn(owner, browser)).status).toBe(429)
      expect((await signIn(owner, other)).status).toBe(200)
      expect((await signIn(owner)).status).toBe(200)
    },
  )

  test('a passkey signs in and makes its browser known', async () => {
    const key = makeSoftwareKey(env().PUBLIC_URL)
    const factorOwner = {
      ...owner,
      name: 'Ana',
      locale: null,
      sessionId: await openSessionId(owner.id),
    }
    const registration = key.register(await beginPasskeyRegistration(factorOwner, env().PUBLIC_URL))
    await addPasskey(factorOwner, { name: 'Notebook', ...registration })
    await lock(owner)
    const browser = openBrowser()
    expect((await signIn(owner, browser)).status).toBe(429)
    for (let nth = 0; nth < 31; nth++) await countAttempt([['address', browser.address]])
    expect((await browser.signIn({ challenge: 'x', passkey: '{}' })).status).toBe(429)
    const { body } = await browser.fetch('POST', '/api/visitor/passkey', {})
    const { challenge, passkey } = key.authenticate(body.data)
    const fields = { challenge, passkey: JSON.stringify(passkey) }
    expect((await browser.signIn(fields)).status).toBe(200)
    // Known now: the password asks for the second factor instead of being refused.
    expect((await signIn(owner, browser)).body).toMatchObject({ methods: ['passkey'] })
  })

  test('whoever resets the password by mail can sign in', async () => {
    await lock(owner)
    const browser = openBrowser()
    await browser.fetch('POST', '/api/visitor/reset', { email: owner.email })
    const secret = (await findMailedLink(owner.email)).split('/').at(-1)
    const reset = { secret, password: NEW_PASSWORD }
    expect((await browser.fetch('POST', '/api/visitor/reset/confirm', reset)).status).toBe(200)
    expect((await signIn(owner, openBrowser(), NEW_PASSWORD)).status).toBe(429)
    expect((await signIn(owner, browser, NEW_PASSWORD)).status).toBe(200)
  })
})

describe('the mark of a known device', () => {
  /** Signs in with these marks from a new address while the user is locked for unknown devices. */
  async function isKnown(marks: string, person = owner, password = PASSWORD): Promise<boolean> {
    const browser = openBrowser()
    browser.cookies.set(cookieNames().device, marks)
    const { status } = await signIn(person, browser, password)
    expect([200, 429]).toContain(status)
    return status === 200
  }
  const listAges = (seconds: number) => new Date(Date.now() - seconds * 1_000)

  test('is not readable by scripts, names nobody, and lasts 90 days', async () => {
    const response = await signIn(owner)
    const line = response.headers.getSetCookie().find(text => text.startsWith('troco-device='))
    expect(line).toMatch(/^troco-device=[\w.-]{50,80}; Path=\/;/)
    expect(line).toMatch(/; Max-Age=7776000; HttpOnly; SameSite=lax$/i)
    const text = Buffer.from(line ?? '', 'base64').toString('latin1') + line
    for (const secret of [owner.email, owner.id, owner.id.replaceAll('-', ''), 'Ana']) {
      expect(text).not.toContain(secret)
    }
  })

  testInTorture('is refused if it is forged, foreign or too old', async () => {
    const stranger = await makePerson()
    const marks = readMarks(await openKnownBrowser())
    const foreign = readMarks(await openKnownBrowser(stranger))
    await lock(owner)
    const [id = '', issuedAt = '', issuer = '', mac = ''] = marks.split('.')
    const later = (Number.parseInt(issuedAt, 36) + 1).toString(36)
    const { TROCO_SECRET = '' } = env()
    supplyEnv({ TROCO_SECRET: 'x'.repeat(40) })
    const otherKey = addMark(owner.id, '')
    supplyEnv({ TROCO_SECRET })
    for (const invalid of [
      foreign,
      otherKey,
      `${id}.${later}.${issuer}.${mac}`,
      `${'A'.repeat(16)}.${issuedAt}.${issuer}.${mac}`,
      `${id}.${issuedAt}.${issuer}.${'A'.repeat(24)}`,
      `${id}.${issuedAt}.${issuer}`,
      `${id}.${issuedAt}.${issuer}.`,
      addMark(owner.id, '', listAges(MARK_SECONDS + 60)),
      '~~~',
      'x'.repeat(4_000),
      `${Array(20).fill(foreign).join('~')}~${marks}`,
    ]) {
      expect(await isKnown(invalid), invalid).toBe(false)
    }
    expect(await isKnown(addMark(owner.id, '', listAges(MARK_SECONDS - 60)))).toBe(true)
    expect(await isKnown(marks)).toBe(true)
  })

  test('ends with a change of the password, except in the browser that changed it', async () => {
    const browser = await openKnownBrowser()
    const [before, elsewhere] = [readMarks(browser), readMarks(await openKnownBrowser())]
    const change = { current: PASSWORD, password: NEW_PASSWORD }
    expect((await browser.fetch('POST', '/api/person/password', change)).status).toBe(200)
    await lock(owner)
    for (const ended of [before, elsewhere]) {
      expect(await isKnown(ended, owner, NEW_PASSWORD)).toBe(false)
    }
    expect(await isKnown(readMarks(browser), owner, NEW_PASSWORD)).toBe(true)
  })

  test('ends with signing out all other devices, except in the browser that did so', async () => {
    const browser = await openKnownBrowser()
    const [before, elsewhere] = [readMarks(browser), readMarks(await openKnownBrowser())]
    const { status, headers } = await browser.fetch('DELETE', '/api/person/sessions')
    expect(status).toBe(200)
    expect(headers.getSetCookie().join()).toMatch(/^troco-device=.*HttpOnly; SameSite=Lax$/)
    await lock(owner)
    for (const ended of [before, elsewhere]) expect(await isKnown(ended)).toBe(false)
    expect(await isKnown(readMarks(browser))).toBe(true)
  })

  testInTorture(
    'stays for each of several users of one browser, eight at most',
    async () => {
      const browser = openBrowser()
      const people = await Promise.all(Array.from({ length: 9 }, makePerson))
      for (const person of people) expect((await signIn(person, browser)).status).toBe(200)
      await signIn(people[1] ?? owner, browser)
      expect(readMarks(browser).split('~')).toHaveLength(8)
      for (const [nth, person] of people.entries()) {
        await lock(person)
        expect(await isKnown(readMarks(browser), person), `${nth}`).toBe(nth > 0)
      }
    },
    120_000,
  )

  test('is not set by a password whose second factor is still missing', async () => {
    const { secret } = await addApp()
    const browser = openBrowser()
    const { body } = await signIn(owner, browser)
    expect(readMarks(browser)).toBe('')
    await browser.signIn({ challenge: body.challenge, code: generateTotp(secret, 1) })
    expect(readMarks(browser)).not.toBe('')
  })
})

/** Sets up an authenticator app that has used none of the current codes. */
async function addApp() {
  const factorOwner = {
    ...owner,
    name: 'Ana',
    locale: 'en',
    sessionId: await openSessionId(owner.id),
  }
  const { secret } = await beginAuthenticator(factorOwner)
  await confirmAuthenticator(factorOwner, generateTotp(secret))
  await db().authenticator.update({ where: { userId: owner.id }, data: { lastCounter: 0 } })
  await db().user.update({ where: { id: owner.id }, data: { locale: 'en' } })
  return { secret }
}

test('a sign-in that the database does not answer in time gets 503 with Retry-After', async () => {
  const key = keyOf('person', owner.email)
  const { DATABASE_TIMEOUT_MS = '' } = process.env
  await changeLimit('2000')
  const held = db().$transaction(
    async tx => {
      const endsAt = new Date(Date.now() + 60_000)
      await tx.signInAttempt.create({ data: { scope: 'person', key, attempts: 1, endsAt } })
      return signIn(owner)
    },
    { timeout: 60_000 },
  )
  const { status, headers } = await held.finally(() => changeLimit(DATABASE_TIMEOUT_MS))
  expect([status, headers.get('retry-after')]).toEqual([503, '2'])
})

async function changeLimit(limit: string): Promise<void> {
  supplyEnv({ DATABASE_TIMEOUT_MS: limit })
  await disconnect()
}

testInTorture(
  'of 200 password guesses at a time none keeps a known device waiting, and all get a response',
  async () => {
    const browser = await openKnownBrowser()
    const [first, ...others] = Array.from({ length: 200 }, () => openBrowser())
    await first?.signIn({ email: '', password: '' })
    const csrf = first?.copyTo.bind(first) ?? expect.unreachable()
    let isOver = false
    const responses: { status: number; retryAfter: string | null }[] = []
    const countChecked = () => responses.filter(({ status }) => status === 401).length
    const guesses = others.map(async ({ address }) => {
      const guesser = csrf(address)
      for (let nth = 0; !isOver && nth < 20; nth++) {
        const email = `someone-${newId()}@troco.example`
        const { status, headers } = await guesser.signIn({ email, password: 'wrong guess' })
        responses.push({ status, retryAfter: headers.get('retry-after') })
      }
    })
    await expect.poll(() => responses.some(({ status }) => status === 503)).toBe(true)
    const checkedBefore = countChecked()
    const known = await signIn(owner, browser)
    const checkedMeanwhile = countChecked() - checkedBefore
    isOver = true
    await Promise.all(guesses)
    expect(known.status).toBe(200)
    // Fifty guesses wait for their check all the time: the known device waits for none of them.
    expect(checkedMeanwhile).toBeLessThan(40)
    const refused = responses.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(100)
    expect(new Set(refused.map(({ retryAfter }) => retryAfter))).toEqual(new Set(['2']))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401, 503]))
  },
)

test('a rejected sign-in takes at least 300 ms, whatever hash the user has, and without a user', async () => {
  const other = await makePerson()
  await db().user.update({ where: { id: other.id }, data: { passwordHash: OUTDATED_HASH } })
  const stranger = { id: '', email: `nobody-${newId()}@troco.example` }
  for (const person of [owner, other, stranger]) {
    const began = performance.now()
    expect((await signIn(person, openBrowser(), 'wrong password')).status).toBe(401)
    expect(performance.now() - began).toBeGreaterThanOrEqual(299)
  }
})

test('no other spelling of the sign-in path signs in', async () => {
  const browser = openBrowser()
  const { csrfToken } = (await browser.fetch('GET', '/api/auth/csrf')).body
  const form = new URLSearchParams({ email: owner.email, password: PASSWORD, csrfToken })
  for (const path of [
    'callback/%63redentials',
    '%63allback/credentials',
    'callback/credentials/x',
  ]) {
    const { status, body } = await browser.fetch('POST', `/api/auth/${path}`, form)
    expect([status, body], path).toEqual([400, { error: 'Malformed request' }])
  }
})

testInTorture('sign-ins whose body never arrives keep nobody out', async () => {
  const known = await openKnownBrowser()
  const unknown = openBrowser()
  const { secret } = await addApp()
  const marks = Array.from({ length: 20 }, () => addMark(owner.id, ''))
  const open = (address: string, mark = '', query = '') => {
    const headers = [
      `POST /api/auth/callback/credentials${query} HTTP/1.1`,
      'Host: localhost',
      `Origin: ${env().PUBLIC_URL}`,
      `X-Forwarded-For: ${address}`,
      `Cookie: ${cookieNames().device}=${mark}`,
      'Content-Length: 100',
      'Content-Type: application/x-www-form-urlencoded',
    ]
    const socket = connect(server.port, '127.0.0.1').on('error', () => {})
    socket.write(`${headers.join('\r\n')}\r\n\r\n`)
    return socket
  }
  const attacker = newAddress()
  const others = Array.from({ length: 5 }, newAddress)
  const sockets = [
    ...marks.flatMap(mark => Array.from({ length: 10 }, () => open(attacker, mark))),
    ...others.flatMap(address => Array.from({ length: 12 }, () => open(address))),
    ...others.flatMap(address => Array.from({ length: 12 }, () => open(address, '', '?step'))),
  ]
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  await sleep(500)
  const first = await signIn(owner, unknown)
  expect([first.status, first.body]).toEqual([401, expect.objectContaining({ methods: ['code'] })])
  const step = { challenge: first.body.challenge, code: generateTotp(secret, 1) }
  expect((await unknown.signIn(step)).status).toBe(200)
  expect((await signIn(owner, known)).body).toMatchObject({ methods: ['code'] })
  for (const socket of sockets) socket.destroy()
})

testInTorture(
  'guesses from 300 networks (/64) of one IPv6 site (/48) are limited, not those of another',
  async () => {
    const attempt = async (nth: number) =>
      (await countAttempt([['address', `2001:db8:${site}:${nth.toString(16)}::1`]])) === null
    const site = (process.pid % 60_000).toString(16)
    const allowed: boolean[] = []
    for (let nth = 0; nth < 300; nth++) allowed.push(await attempt(nth))
    expect(allowed.filter(Boolean)).toHaveLength(150)
    const { status, headers } = await signIn(owner, openBrowser(`2001:db8:${site}:fff::1`))
    expect([status, Number(headers.get('retry-after')) <= 60]).toEqual([429, true])
    expect((await signIn(owner, openBrowser(`2001:db9:${site}:fff::1`))).status).toBe(200)
  },
)

describe('the sessions of a user', () => {
  test('are limited: one more ends the one that was unused for longest', async () => {
    const device = { ip: null, userAgent: 'a browser' }
    const secrets: string[] = []
    for (let nth = 0; nth < SESSIONS_MAX; nth++) secrets.push(await openSession(owner.id, device))
    // A page read with the first session; the second is now the one unused for longest.
    await db().$executeRaw`
      UPDATE user_sessions SET last_used_at = last_used_at - interval '1 hour'
      WHERE user_id = ${owner.id}::uuid`
    await readSession(secrets[0] ?? '')
    const browser = await openKnownBrowser()
    expect(await readSession(secrets[0] ?? '')).not.toBeNull()
    expect(await readSession(secrets[1] ?? '')).toBeNull()
    const { body } = await browser.fetch('GET', '/api/person/sessions')
    expect(body.data).toHaveLength(SESSIONS_MAX)
    const concurrent = await Promise.all(
      Array.from({ length: 8 }, () => openSession(owner.id, device)),
    )
    expect(await Promise.all(concurrent.map(secret => readSession(secret)))).not.toContain(null)
    const list = await browser.fetch('GET', '/api/person/sessions')
    expect(list.body.data).toHaveLength(SESSIONS_MAX)
  })

  test('are opened at most 200 times an hour', async () => {
    for (let nth = 0; nth < 199; nth++) await countAttempt([['sign_in', owner.id]])
    const browser = await openKnownBrowser()
    const refused = await signIn(owner, browser)
    expect([refused.status, Number(refused.headers.get('retry-after')) > 3_500]).toEqual([
      429,
      true,
    ])
    expect((await signIn(owner, browser, 'wrong')).status).toBe(401)
  })
})

describe('wrong codes of the second factor', () => {
  const openStep = async (browser: SignInBrowser) =>
    String((await signIn(owner, browser)).body.challenge)
  /** Lets the time since the last wrong code pass. */
  const waitSeconds = (seconds: number) => db().$executeRaw`
    UPDATE sign_in_attempts SET ends_at = ends_at - make_interval(secs => ${seconds}::int)
    WHERE scope IN ('factor', 'challenge')`

  testInTorture(
    'delay the next attempt ever longer, are mailed once, and end with a right code',
    async () => {
      const { secret } = await addApp()
      const browser = openBrowser()
      const waits: number[] = []
      for (let nth = 0; nth < 9; nth++) {
        const challenge = await openStep(browser)
        const refused = await browser.signIn({ challenge, code: 'aaaaaa' })
        expect(refused.body).toEqual({ error: 'wrong_code' })
        const again = await browser.signIn({ challenge: await openStep(browser), code: 'aaaaaa' })
        if (again.status === 429) waits.push(Number(again.headers.get('retry-after')))
        await waitSeconds(again.status === 429 ? (waits.at(-1) ?? 0) : 0)
      }
      expect(waits).toHaveLength(7)
      for (const [nth, expected] of [30, 60, 120, 240, 480, 900, 900].entries()) {
        expect(waits[nth], `${waits}`).toBeGreaterThan(expected - 5)
        expect(waits[nth], `${waits}`).toBeLessThanOrEqual(expected)
      }
      const mails = (await mailsTo(owner.email)).filter(({ subject }) => /may know/.test(subject))
      expect(mails.map(({ subject }) => subject)).toEqual(['Someone may know your Troco password'])
      expect(mails[0]?.text).toContain(`IP ${browser.address}`)
      const { status } = await browser.signIn({
        challenge: await openStep(browser),
        code: generateTotp(secret, 1),
      })
      expect(status).toBe(200)
      // The spell is over: the next wrong code has no delay and is not mailed.
      expect(await countFactorAttempt({ userId: owner.id, challenge: '', device: null })).toBe(1)
    },
  )

  test('delay attempts in one sign-in, at the same time as well', async () => {
    const { secret } = await addApp()
    const browser = openBrowser()
    const challenge = await openStep(browser)
    const attempts = Array.from({ length: 6 }, () => browser.signIn({ challenge, code: 'aaaaaa' }))
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([401, 401, 429, 429, 429, 429])
    await waitSeconds(2)
    const code = generateTotp(secret, 1)
    expect((await browser.signIn({ challenge, code })).status).toBe(200)
  })

  testInTorture(
    'of others do not delay a known device, nor a user who chose a new password',
    async () => {
      const browser = await openKnownBrowser()
      const { secret } = await addApp()
      const attacker = openBrowser()
      const enterWrongCodes = async () => {
        for (let nth = 0; nth < 6; nth++) {
          await attacker.signIn({ challenge: await openStep(attacker), code: 'aaaaaa' })
        }
      }
      await enterWrongCodes()
      const challenge = await openStep(attacker)
      expect((await attacker.signIn({ challenge, code: generateTotp(secret) })).status).toBe(429)
      const known = await openStep(browser)
      const right = await browser.signIn({ challenge: known, code: generateTotp(secret) })
      expect(right.status).toBe(200)
      await enterWrongCodes()
      await attacker.fetch('POST', '/api/visitor/reset', { email: owner.email })
      const link = (await findMailedLink(owner.email)).split('/').at(-1)
      const fresh = openBrowser()
      const reset = { secret: link, password: NEW_PASSWORD }
      expect((await fresh.fetch('POST', '/api/visitor/reset/confirm', reset)).status).toBe(200)
      const unknown = openBrowser()
      const step = (await signIn(owner, unknown, NEW_PASSWORD)).body.challenge
      const code = generateTotp(secret, 1)
      expect((await unknown.signIn({ challenge: step, code })).status).toBe(200)
    },
  )
})

/** Returns a response without what differs by time. */
function shapeOf({ text, headers }: { text: string; headers: Headers }) {
  return [text.replace(/\d+/g, 'N'), [...headers.keys()].sort()]
}
