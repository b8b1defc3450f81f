import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { runConcurrently } from '#lib/db/batch.ts'
import { db } from '#lib/db/client.ts'
import {
  countAttempt,
  countSignInAttempt,
  type SignInAttempt,
  uncountSignInAttempt,
} from '#lib/people/throttle.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { pruneSignInAttempts } from '#lib/worker/prune.ts'

// These tests end the throttling of all users, which other tests rely on.
inOwnDatabase()

let host = 0
function newAddress(): string {
  host += 1
  return `198.51.100.${host}`
}

function makeAttempt(address: string | null = newAddress()): SignInAttempt {
  return { email: `${newId()}@troco.example`, address }
}

/** Twice the pool size: with more, attempts would wait for a connection beyond the limit of 2 s. */
const CONCURRENCY = 20

async function countAllowed(attemptCount: number, attempt: () => SignInAttempt) {
  let allowed = 0
  await runConcurrently(
    Array.from({ length: attemptCount }, attempt),
    CONCURRENCY,
    async signIn => {
      if ((await countSignInAttempt(signIn)) === null) allowed++
    },
  )
  return allowed
}

test('of 200 concurrent attempts for one e-mail ten are allowed, then none for 15 minutes', async () => {
  const { email } = makeAttempt()
  expect(await countAllowed(200, () => ({ email, address: null }))).toBe(10)
  const waitS = await countSignInAttempt({ email, address: newAddress() })
  expect(waitS).toBeGreaterThan(880)
  expect(waitS).toBeLessThanOrEqual(900)
})

test('an address has 30 attempts per minute, whatever the e-mails', async () => {
  const address = newAddress()
  expect(await countAllowed(100, () => makeAttempt(address))).toBe(30)
  expect(await countSignInAttempt(makeAttempt(address))).toBeLessThanOrEqual(60)
})

test('an IPv6 /64 network has as many attempts as one address', async () => {
  let index = 0
  const inNetwork = () => makeAttempt(`2001:db8:7:1::${(++index).toString(16)}`)
  expect(await countAllowed(40, inNetwork)).toBe(30)
  expect(await countSignInAttempt(makeAttempt('2001:db8:7:2::1'))).toBeNull()
  const resets = Array.from({ length: 25 }, (_, index) =>
    countAttempt([['reset_address', `2001:db8:8:1::${index}`]]),
  )
  expect((await Promise.all(resets)).filter(waitS => waitS === null)).toHaveLength(20)
})

test('an IPv6 /48 has five times as many resets and sign-ups as a /64', async () => {
  const countIn = async (scope: 'reset_address' | 'sign_up') => {
    let allowed = 0
    for (let nth = 0; nth < 105; nth++) {
      const waitS = await countAttempt([[scope, `2001:db8:9:${nth.toString(16)}::1`]])
      if (waitS === null) allowed++
    }
    return allowed
  }
  expect([await countIn('reset_address'), await countIn('sign_up')]).toEqual([100, 100])
  expect(await countAttempt([['sign_up', '2001:db8:a:1::1']])).toBeNull()
})

test('attempts refused for their address do not count against the e-mail', async () => {
  const address = newAddress()
  const { email } = makeAttempt()
  await countAllowed(30, () => makeAttempt(address))
  await countAllowed(50, () => ({ email, address }))
  expect(await countSignInAttempt({ email, address: newAddress() })).toBeNull()
})

test('successful sign-ins do not count', async () => {
  const attempt = makeAttempt()
  for (let times = 0; times < 40; times++) {
    expect(await countSignInAttempt(attempt)).toBeNull()
    await uncountSignInAttempt(attempt)
  }
})

test('throttling ends by itself, and old counters are deleted', async () => {
  const attempt = makeAttempt()
  await countAllowed(11, () => attempt)
  expect(await countSignInAttempt(attempt)).not.toBeNull()
  await db().$executeRaw`UPDATE sign_in_attempts SET ends_at = now() - interval '1 second'`
  expect(await countSignInAttempt(attempt)).toBeNull()
  await db().$executeRaw`UPDATE sign_in_attempts SET ends_at = now() - interval '1 second'`
  expect(await pruneSignInAttempts()).toBeGreaterThan(0)
  expect(await db().signInAttempt.count()).toBe(0)
})

test('e-mails are not stored in plain text', async () => {
  const attempt = makeAttempt()
  await countSignInAttempt(attempt)
  const rows = await db().signInAttempt.findMany()
  expect(JSON.stringify(rows)).not.toContain(attempt.email)
})
