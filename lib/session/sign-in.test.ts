import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, transaction } from '#lib/db/client.ts'
import {
  beginAuthenticator,
  confirmAuthenticator,
  consumeCode,
  type FactorOwner,
} from '#lib/people/factors.ts'
import {
  addPasskey,
  beginPasskeyAuthentication,
  beginPasskeyRegistration,
  removePasskey,
} from '#lib/people/passkeys.ts'
import { hashPassword } from '#lib/people/password.ts'
import { endSessionsOf, openSession } from '#lib/people/sessions.ts'
import { readSession } from '#lib/session/read.ts'
import { type SignInCredentials, type SignInDetails, signIn } from '#lib/session/sign-in.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { makeSoftwareKey } from '#lib/testing/software-key.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { generateTotp } from '#lib/testing/totp.ts'

// One of these tests deletes all mails, which tests in other files need.
inOwnDatabase()

const PASSWORD = 'quite a long password'
const ORIGIN = 'http://localhost:3000'
const DEVICE = { ip: null, userAgent: 'a browser' }

let passwordHash: string
beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD)
})

async function makeOwner(): Promise<FactorOwner> {
  const id = newId()
  const email = `ana-${id}@troco.example`
  await db().user.create({ data: { id, email, name: 'Ana', passwordHash } })
  return { id, email, name: 'Ana', locale: null, sessionId: await openSessionId(id) }
}

/** Creates a user with an authenticator app that has used none of the current codes. */
async function makeUserWithApp() {
  const owner = await makeOwner()
  const { secret } = await beginAuthenticator(owner)
  const codes = (await confirmAuthenticator(owner, generateTotp(secret))) ?? []
  await db().authenticator.update({ where: { userId: owner.id }, data: { lastCounter: 0 } })
  return { ...owner, secret, codes }
}

async function makeUserWithPasskey() {
  const owner = await makeOwner()
  const key = makeSoftwareKey(ORIGIN)
  const registration = key.register(await beginPasskeyRegistration(owner, ORIGIN))
  await addPasskey(owner, { name: 'Notebook', ...registration })
  return { ...owner, key }
}

async function attemptSignIn(credentials: SignInCredentials) {
  const details: SignInDetails = {}
  return { person: await signIn(credentials, null, details), ...details }
}

async function openSecondStep(email: string): Promise<string> {
  const { person, step } = await attemptSignIn({ email, password: PASSWORD })
  expect(person).toBeNull()
  return step?.challenge ?? ''
}

const listSignIns = (actorId: string) =>
  db().auditRecord.findMany({ where: { actorId, action: 'user.signed_in' } })

/** Returns a code that the app does not show within two periods of now. */
function wrongCode(secret: string): string {
  const shown = [-2, -1, 0, 1, 2].map(periods => generateTotp(secret, periods))
  const codes = Array.from({ length: shown.length + 1 }, (_, index) => `00000${index}`)
  return codes.find(code => !shown.includes(code)) as string
}

/** Ends the delays after wrong codes. */
const endDelays = () => db().$executeRaw`
  UPDATE sign_in_attempts SET ends_at = ends_at - interval '15 minutes'
  WHERE scope IN ('factor', 'challenge')`

describe('with an authenticator app', () => {
  test('the correct password asks for a code, and only the correct code opens a session', async () => {
    const { id, email, secret } = await makeUserWithApp()
    expect((await attemptSignIn({ email, password: `${PASSWORD}!` })).step).toBeNull()
    const challenge = await openSecondStep(email)
    expect(await listSignIns(id)).toEqual([])
    expect(await attemptSignIn({ challenge, code: wrongCode(secret) })).toEqual({
      person: null,
      refusal: 'wrong_code',
    })
    const result = await attemptSignIn({ challenge, code: generateTotp(secret) })
    expect(result.person).toMatchObject({ id, email })
    expect(await listSignIns(id)).toMatchObject([{ after: { by: 'code' } }])
    const again = await attemptSignIn({ challenge, code: generateTotp(secret, 1) })
    expect(again).toEqual({ person: null, refusal: 'challenge_ended' })
  })

  test('a challenge allows five attempts; a correct sixth is refused', async () => {
    const { email, secret } = await makeUserWithApp()
    const challenge = await openSecondStep(email)
    const refusals: unknown[] = []
    for (let index = 0; index < 5; index++) {
      refusals.push((await attemptSignIn({ challenge, code: wrongCode(secret) })).refusal)
      await endDelays()
    }
    expect(refusals).toEqual([...Array(4).fill('wrong_code'), 'challenge_ended'])
    expect(await attemptSignIn({ challenge, code: generateTotp(secret) })).toEqual({
      person: null,
      refusal: 'challenge_ended',
    })
  })

  testInTorture(
    'after five wrong codes further attempts are throttled, in any challenge',
    async () => {
      const { email, secret } = await makeUserWithApp()
      const challenges: string[] = []
      // One after the other: eight passwords at once can be too many for a busy machine.
      for (let count = 0; count < 8; count++) challenges.push(await openSecondStep(email))
      const results = await Promise.allSettled(
        challenges.map(challenge => attemptSignIn({ challenge, code: wrongCode(secret) })),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
      const challenge = await openSecondStep(email)
      await expect(attemptSignIn({ challenge, code: generateTotp(secret) })).rejects.toThrow(
        /^Throttled-([1-9]|[12]\d|30)$/,
      )
      await endDelays()
      const { person } = await attemptSignIn({ challenge, code: generateTotp(secret) })
      expect(person).toMatchObject({ email })
    },
  )

  test('of fifty uses of one code one succeeds, and earlier codes become invalid', async () => {
    const { id, secret } = await makeUserWithApp()
    const code = generateTotp(secret, 1)
    const results = await Promise.all(Array.from({ length: 50 }, () => consumeCode(id, code)))
    expect(results.filter(kind => kind === 'code')).toHaveLength(1)
    expect(await consumeCode(id, generateTotp(secret))).toBeNull()
  })

  test('a clock may be off by half a minute and no more; a code 61 s old is refused', async () => {
    for (const [periods, kind] of [
      [-3, null],
      [-2, null],
      [3, null],
      [0, 'code'],
      [1, 'code'],
    ] as const) {
      const { id, secret } = await makeUserWithApp()
      expect(await consumeCode(id, generateTotp(secret, periods)), `${periods}`).toBe(kind)
    }
  })

  test('an unconfirmed app requires no code, and its codes are refused', async () => {
    const owner = await makeOwner()
    const { secret } = await beginAuthenticator(owner)
    expect(await consumeCode(owner.id, generateTotp(secret))).toBeNull()
    const { person } = await attemptSignIn({ email: owner.email, password: PASSWORD })
    expect(person).toMatchObject({ id: owner.id })
  })

  test('a user disabled meanwhile cannot finish the sign-in', async () => {
    const { id, email, secret } = await makeUserWithApp()
    const challenge = await openSecondStep(email)
    await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
    expect((await attemptSignIn({ challenge, code: generateTotp(secret) })).person).toBeNull()
    expect(await listSignIns(id)).toEqual([])
  })

  test('the secret survives a change of TROCO_SECRET and is encrypted again at its next use', async () => {
    const { TROCO_SECRET = '' } = env()
    const { id, secret, codes } = await makeUserWithApp()
    const sealed = async () =>
      (await db().authenticator.findUniqueOrThrow({ where: { userId: id } })).sealed
    expect(Buffer.from(await sealed()).includes(secret)).toBe(false)
    supplyEnv({ TROCO_SECRET: 'x'.repeat(32) + newId(), TROCO_SECRET_BEFORE: TROCO_SECRET })
    try {
      expect(await consumeCode(id, generateTotp(secret))).toBe('code')
      expect(await consumeCode(id, codes[0] ?? '')).toBe('recovery_code')
      supplyEnv({ TROCO_SECRET_BEFORE: '' })
      expect(await consumeCode(id, generateTotp(secret, 1))).toBe('code')
    } finally {
      supplyEnv({ TROCO_SECRET, TROCO_SECRET_BEFORE: '' })
      // The mail about the used code is encrypted under the key that was just dropped.
      await db().mail.deleteMany()
    }
  })
})

describe('a recovery code', () => {
  test('works once in any notation, and its owner gets a mail', async () => {
    const { id, email, codes } = await makeUserWithApp()
    expect(codes).toHaveLength(10)
    for (const code of codes) expect(code).toMatch(/^[a-hj-km-np-z2-9]{5}-[a-hj-km-np-z2-9]{5}$/)
    const rows = await db().recoveryCode.findMany({ where: { userId: id } })
    expect(JSON.stringify(rows)).not.toContain(codes[0])
    const mails = await db().mail.count()
    const [code = ''] = codes
    const challenge = await openSecondStep(email)
    const result = await attemptSignIn({
      challenge,
      code: ` ${code.toUpperCase().replace('-', ' ')}`,
    })
    expect(result.person).toMatchObject({ id })
    expect(await listSignIns(id)).toMatchObject([{ after: { by: 'recovery_code' } }])
    expect(await db().mail.count()).toBeGreaterThan(mails)
    const otherChallenge = await openSecondStep(email)
    expect((await attemptSignIn({ challenge: otherChallenge, code })).refusal).toBe('wrong_code')
  })

  test('is accepted once of twenty concurrent uses, and only for its owner', async () => {
    const { id, codes } = await makeUserWithApp()
    const stranger = await makeUserWithApp()
    const [code = ''] = codes
    expect(await consumeCode(stranger.id, code)).toBeNull()
    const results = await Promise.all(Array.from({ length: 20 }, () => consumeCode(id, code)))
    expect(results.filter(Boolean)).toEqual(['recovery_code'])
  })
})

describe('with a passkey', () => {
  const presentPasskey = async (
    proof: ReturnType<ReturnType<typeof makeSoftwareKey>['authenticate']>,
  ) => attemptSignIn({ challenge: proof.challenge, passkey: JSON.stringify(proof.passkey) })

  test('signs in alone and as a second factor', async () => {
    const { id, email, key } = await makeUserWithPasskey()
    expect(
      (await presentPasskey(key.authenticate(await beginPasskeyAuthentication(ORIGIN, null))))
        .person,
    ).toMatchObject({ id })
    expect((await attemptSignIn({ email, password: PASSWORD })).step?.methods).toEqual(['passkey'])
    const authentication = await beginPasskeyAuthentication(ORIGIN, id)
    expect(authentication.options.allowCredentials).toMatchObject([{ id: key.id }])
    expect((await presentPasskey(key.authenticate(authentication))).person).toMatchObject({ id })
    expect(await listSignIns(id)).toMatchObject([{ after: { by: 'passkey' } }, {}])
  })

  test('a proof of another origin, user or key, unverified, forged or reused, is refused', async () => {
    const { key } = await makeUserWithPasskey()
    const stranger = await makeUserWithPasskey()
    const begin = () => beginPasskeyAuthentication(ORIGIN, null)
    const used = key.authenticate(await begin())
    await presentPasskey(used)
    const proofs = [
      used,
      key.authenticate(await begin(), { origin: 'http://evil.example' }),
      key.authenticate(await begin(), { isVerified: false }),
      key.authenticate(await begin(), { isForged: true }),
      key.authenticate(await beginPasskeyAuthentication(ORIGIN, stranger.id)),
      makeSoftwareKey(ORIGIN).authenticate(await begin()),
      { ...key.authenticate(await begin()), challenge: 'unknown' },
    ]
    for (const proof of proofs) {
      expect(await presentPasskey(proof)).toEqual({ person: null, refusal: 'challenge_ended' })
    }
    const nothing = await attemptSignIn({ challenge: (await begin()).challenge, passkey: '{' })
    expect(nothing.person).toBeNull()
  })

  test('a copied key is detected by a counter that does not increase', async () => {
    const { id, key } = await makeUserWithPasskey()
    const presentAt = async (counter: number) =>
      (
        await presentPasskey(
          key.authenticate(await beginPasskeyAuthentication(ORIGIN, null), { counter }),
        )
      ).person?.id
    expect(await presentAt(5)).toBe(id)
    expect(await presentAt(5)).toBeUndefined()
    expect(await presentAt(4)).toBeUndefined()
    expect(await presentAt(6)).toBe(id)
  })

  test('a key is added once, by the user who began, and not on an IP address', async () => {
    const owner = await makeOwner()
    const stranger = await makeOwner()
    await expect(beginPasskeyRegistration(owner, 'http://127.0.0.1:3000')).rejects.toThrow(
      'not an IP address',
    )
    await expect(beginPasskeyAuthentication('http://[::1]:3000', null)).rejects.toThrow(
      'not an IP address',
    )
    const key = makeSoftwareKey(ORIGIN)
    const registration = key.register(await beginPasskeyRegistration(owner, ORIGIN))
    await expect(addPasskey(stranger, { name: 'x', ...registration })).rejects.toThrow(
      'start again',
    )
    const foreign = key.register(await beginPasskeyRegistration(owner, ORIGIN), {
      origin: 'http://evil.example',
    })
    await expect(addPasskey(owner, { name: 'x', ...foreign })).rejects.toThrow('start again')
    const right = key.register(await beginPasskeyRegistration(owner, ORIGIN))
    expect(await addPasskey(owner, { name: 'x', ...right })).toHaveLength(10)
    const twice = key.register(await beginPasskeyRegistration(stranger, ORIGIN))
    await expect(addPasskey(stranger, { name: 'x', ...twice })).rejects.toThrow('already')
  })

  test('recovery codes are created with the first factor and deleted with the last', async () => {
    const owner = await makeUserWithPasskey()
    const { secret } = await beginAuthenticator(owner)
    expect(await confirmAuthenticator(owner, generateTotp(secret))).toBeNull()
    const codes = () => db().recoveryCode.count({ where: { userId: owner.id } })
    const { id } = await db().passkey.findFirstOrThrow({ where: { userId: owner.id } })
    await removePasskey(owner, id)
    expect(await codes()).toBe(10)
    await db().authenticator.deleteMany({ where: { userId: owner.id } })
    const key = makeSoftwareKey(ORIGIN)
    await addPasskey(owner, {
      name: 'y',
      ...key.register(await beginPasskeyRegistration(owner, ORIGIN)),
    })
    const { id: last } = await db().passkey.findFirstOrThrow({ where: { userId: owner.id } })
    await removePasskey(owner, last)
    expect(await codes()).toBe(0)
  })
})

describe('a proof given before a change opens no session after it', () => {
  const begin = async () => ({ ...(await makeOwner()), shownAt: new Date() })
  const isOpened = (id: string, shownAt?: Date) =>
    openSession(id, DEVICE, shownAt).then(
      () => true,
      () => false,
    )

  test('of the password, even before the change commits', async () => {
    const { id, shownAt } = await begin()
    expect(await isOpened(id, shownAt)).toBe(true)
    const opened = await transaction(async tx => {
      await tx.user.update({ where: { id }, data: { passwordChangedAt: new Date() } })
      const late = isOpened(id, shownAt)
      await sleep(100)
      await endSessionsOf(tx, id)
      return { late }
    })
    expect(await opened.late).toBe(false)
    expect(await isOpened(id)).toBe(true)
  })

  test('of the factors', async () => {
    const app = await begin()
    const { secret } = await beginAuthenticator(app)
    expect(await isOpened(app.id, app.shownAt)).toBe(true)
    await confirmAuthenticator(app, generateTotp(secret))
    expect(await isOpened(app.id, app.shownAt)).toBe(false)
    expect(await isOpened(app.id)).toBe(true)
    const key = await begin()
    const registration = makeSoftwareKey(ORIGIN).register(
      await beginPasskeyRegistration(key, ORIGIN),
    )
    await addPasskey(key, { name: 'Notebook', ...registration })
    expect(await isOpened(key.id, key.shownAt)).toBe(false)
    expect(await isOpened(key.id)).toBe(true)
  })

  test('and no proof opens a session after the user was disabled', async () => {
    const { id } = await begin()
    await db().user.update({ where: { id }, data: { disabledAt: new Date() } })
    expect(await isOpened(id)).toBe(false)
  })
})

test('a change of factors ends all sessions except the one that made it', async () => {
  const owner = await makeOwner()
  const [ownSecret, otherSecret] = [
    await openSession(owner.id, DEVICE),
    await openSession(owner.id, DEVICE),
  ]
  const sessionId = (await readSession(ownSecret))?.sessionId ?? ''
  const { secret } = await beginAuthenticator(owner)
  expect(await readSession(otherSecret)).not.toBeNull()
  await confirmAuthenticator({ ...owner, sessionId }, generateTotp(secret))
  expect(await readSession(otherSecret)).toBeNull()
  expect(await readSession(ownSecret)).toMatchObject({ hasSecondFactor: true })
})
