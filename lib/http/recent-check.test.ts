import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createCharge } from '#lib/charges/create.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { query } from '#lib/testing/embedded.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'

/** Longer than the server takes to check a caller whose body has not arrived. */
const CHECKED_MS = 500

let api: Api
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  const merchant = await makeMerchant()
  headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
})
afterAll(() => api.close())

/** Opens a charge; `pauseMs` after the first bytes of the body, sends the rest. */
async function send(pauseMs: number): Promise<number> {
  const text = JSON.stringify(CHARGE)
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  const sent = request(`${api.url}/api/transactions`, {
    method: 'POST',
    headers: { ...headers, ...length, 'content-type': 'application/json' },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.on('response', response => resolve(response.resume().statusCode ?? 0))
    sent.on('error', reject)
  })
  if (pauseMs > 0) {
    sent.write(text.slice(0, 5))
    await sleep(pauseMs)
    sent.end(text.slice(5))
  } else sent.end(text)
  return status
}

async function countLookups(pauseMs: number): Promise<number> {
  const queries = vi.spyOn(pg.Client.prototype, 'query')
  expect(await send(pauseMs)).toBe(200)
  const { calls } = queries.mock
  const count = calls.filter(([query]) => JSON.stringify(query)?.includes('user_sessions')).length
  queries.mockRestore()
  return count
}

test('only a body that arrives after its headers costs a second check', async () => {
  const atOnce = await countLookups(0)
  expect(atOnce).toBeGreaterThan(0)
  expect(await countLookups(CHECKED_MS)).toBe(2 * atOnce)
})

/** Signs an owner in. `isChecked` says whether a request of the session has been checked. */
async function signInOwner() {
  const merchant = await makeMerchant()
  const secret = await signIn(merchant, 'owner')
  const where = { secretHash: hashSecret(secret) }
  const { userId } = await db().userSession.findUniqueOrThrow({ where })
  await db().$executeRaw`
    UPDATE user_sessions SET last_used_at = now() - interval '2 minutes' WHERE user_id = ${userId}::uuid`
  const isChecked = async () => {
    const [row] = await db().$queryRaw<{ isChecked: boolean }[]>`
      SELECT last_used_at > now() - interval '1 minute' AS "isChecked"
      FROM user_sessions WHERE user_id = ${userId}::uuid`
    return row?.isChecked
  }
  const endSession = () => db().userSession.deleteMany({ where })
  const countCharges = () => db().charge.count({ where: { accountId: merchant.id } })
  const open = (key?: string) =>
    call(api.url, 'POST', '/transactions', {
      headers: pageHeaders(secret, merchant.id),
      body: CHARGE,
      ...(key === undefined ? {} : { key }),
    })
  return { merchant, userId, isChecked, endSession, countCharges, open }
}

describe('a session that ends while its request waits counts as ended', () => {
  const waitForAge = () => sleep(1_100)

  test.each([
    ['has ended', 'UPDATE idempotency_keys SET locked_until = NULL WHERE account_id = $1::uuid'],
    ['has failed', 'DELETE FROM idempotency_keys WHERE account_id = $1::uuid'],
  ])('for another one with its key that then %s', async (_, ending) => {
    const { merchant, isChecked, endSession, countCharges, open } = await signInOwner()
    const key = newId()
    const { id: other } = (await open(key)).body.data ?? {}
    expect(other).not.toBeNull()
    await db().$executeRaw`
      UPDATE idempotency_keys SET locked_until = now() + interval '1 minute'
      WHERE account_id = ${merchant.id}::uuid`
    await db().$executeRaw`
      UPDATE user_sessions SET last_used_at = now() - interval '2 minutes'`
    const waiting = open(key)
    await expect.poll(isChecked, { interval: 20 }).toBe(true)
    await endSession()
    await waitForAge()
    await query(env().DATABASE_URL ?? '', ending.replace('$1', `'${merchant.id}'`))
    const { status, text } = await waiting
    expect([status, text]).toEqual([401, '{"error":"Unauthenticated"}'])
    expect(await countCharges()).toBe(1)
  })
})

describe('a request that waits for a place of its token', () => {
  const AGE_MS = 1_200

  /** Reads a charge while another request holds the only place; calls `meanwhile` once the look-up is old. */
  async function readLate(meanwhile: (id: string, accountId: string) => Promise<unknown>) {
    const account = await makeMerchant()
    const token = await makeToken(account.id)
    const { id } = await createCharge(account, 'test', CHARGE, null)
    supplyEnv({ RATE_TOKEN_IN_FLIGHT: '1' })
    const text = JSON.stringify(CHARGE)
    const holder = request(`${api.url}/api/transactions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      },
    })
    holder.on('error', () => {})
    holder.write(text.slice(0, 5))
    await sleep(CHECKED_MS)
    const waiting = call(api.url, 'GET', `/transactions/${id}`, { token })
    await sleep(AGE_MS)
    await meanwhile(id, account.id)
    holder.destroy()
    const response = await waiting
    supplyEnv({ RATE_TOKEN_IN_FLIGHT: '0' })
    return response
  }

  test('gets the row as it is then', async () => {
    const { body } = await readLate((id, accountId) => simulateCharge(accountId, id, 'paid'))
    expect(body.data.status).toBe('paid')
  })

  test('is refused if its token was revoked meanwhile', async () => {
    const revoke = (_: string, accountId: string) =>
      db().token.updateMany({ where: { accountId }, data: { revokedAt: new Date() } })
    expect((await readLate(revoke)).status).toBe(401)
  })
})
