import { expect, test } from 'vitest'
import { sideBySide } from '#lib/base/db/batch.ts'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { forgetTries } from '#lib/edge/jobs/prune.ts'
import { type Attempt, count, countTry, forgiveTry } from '#lib/services/people/throttle.ts'
import { inOwnDatabase } from '#lib/testing/stage.ts'

// Its tests let every pause end, which other tests would feel.
inOwnDatabase()

let host = 0
function someAddress(): string {
  host += 1
  return `198.51.100.${host}`
}

function somebody(address: string | null = someAddress()): Attempt {
  return { email: `${newId()}@troco.example`, address }
}

/** Twice as many as a pool has connections: more would only wait for one, and a wait ends after 2 s. */
const AT_ONCE = 20

async function tryTimes(times: number, attempt: () => Attempt) {
  let allowed = 0
  await sideBySide(Array.from({ length: times }, attempt), AT_ONCE, async one => {
    if ((await countTry(one)) === null) allowed++
  })
  return allowed
}

test('200 tries at once as one person: ten may go on, the others wait for a quarter of an hour', async () => {
  const { email } = somebody()
  expect(await tryTimes(200, () => ({ email, address: null }))).toBe(10)
  const waitS = await countTry({ email, address: someAddress() })
  expect(waitS).toBeGreaterThan(880)
  expect(waitS).toBeLessThanOrEqual(900)
})

test('from one address 30 in a minute, whoever they are tried as', async () => {
  const address = someAddress()
  expect(await tryTimes(100, () => somebody(address))).toBe(30)
  expect(await countTry(somebody(address))).toBeLessThanOrEqual(60)
})

test('who owns a whole network of IPv6 has no more tries than who has one address', async () => {
  let nth = 0
  const inNetwork = () => somebody(`2001:db8:7:1::${(++nth).toString(16)}`)
  expect(await tryTimes(40, inNetwork)).toBe(30)
  expect(await countTry(somebody('2001:db8:7:2::1'))).toBeNull()
  const resets = Array.from({ length: 25 }, (_, nth) =>
    count([['reset_address', `2001:db8:8:1::${nth}`]]),
  )
  expect((await Promise.all(resets)).filter(waitS => waitS === null)).toHaveLength(20)
})

test('who is refused by the address locks out nobody', async () => {
  const address = someAddress()
  const { email } = somebody()
  await tryTimes(30, () => somebody(address))
  await tryTimes(50, () => ({ email, address }))
  expect(await countTry({ email, address: someAddress() })).toBeNull()
})

test('a success is no failure: somebody may sign in again and again', async () => {
  const attempt = somebody()
  for (let times = 0; times < 40; times++) {
    expect(await countTry(attempt)).toBeNull()
    await forgiveTry(attempt)
  }
})

test('the pause ends by itself, and what is over is forgotten', async () => {
  const attempt = somebody()
  await tryTimes(11, () => attempt)
  expect(await countTry(attempt)).not.toBeNull()
  await db().$executeRaw`UPDATE sign_in_tries SET ends_at = now() - interval '1 second'`
  expect(await countTry(attempt)).toBeNull()
  await db().$executeRaw`UPDATE sign_in_tries SET ends_at = now() - interval '1 second'`
  expect(await forgetTries()).toBeGreaterThan(0)
  expect(await db().signInTry.count()).toBe(0)
})

test('what was typed as an e-mail is not kept as it was', async () => {
  const attempt = somebody()
  await countTry(attempt)
  const rows = await db().signInTry.findMany()
  expect(JSON.stringify(rows)).not.toContain(attempt.email)
})
